"""Adds up the lines of a receipt. All prices are whole cents."""

BULK_FROM = 10
BULK_PERCENT = 10


def line_total(quantity, price):
    """Price of one line; ten or more of an article are cheaper."""
    total = quantity * price
    if quantity > BULK_FROM:
        total -= total * BULK_PERCENT // 100
    return total


def receipt_total(lines):
    """Price of all lines, given as (quantity, price) pairs."""
    return sum(line_total(quantity, price) for quantity, price in lines)
