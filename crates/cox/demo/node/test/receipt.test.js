import assert from "node:assert/strict";
import test from "node:test";

import { lineTotal, receiptTotal } from "../src/receipt.js";

test("a few articles cost the full price", () => {
  assert.equal(lineTotal(3, 250), 750);
});

test("the discount begins at exactly ten", () => {
  assert.equal(lineTotal(10, 100), 900);
});

test("lines add up", () => {
  assert.equal(receiptTotal([[1, 199], [10, 100]]), 1099);
});
