// Adds up the lines of a receipt. All prices are whole cents.

const BULK_FROM = 10;
const BULK_PERCENT = 10;

// Price of one line; ten or more of an article are cheaper.
export function lineTotal(quantity, price) {
  const total = quantity * price;
  if (quantity > BULK_FROM) {
    return total - Math.floor((total * BULK_PERCENT) / 100);
  }
  return total;
}

// Price of all lines, given as [quantity, price] pairs.
export function receiptTotal(lines) {
  return lines.reduce((sum, [quantity, price]) => sum + lineTotal(quantity, price), 0);
}
