"""What a receipt must come to."""

import unittest

from shop.receipt import line_total, receipt_total


class Receipt(unittest.TestCase):
    def test_a_few_articles_cost_the_full_price(self):
        self.assertEqual(line_total(3, 250), 750)

    def test_the_discount_begins_at_exactly_ten(self):
        self.assertEqual(line_total(10, 100), 900)

    def test_lines_add_up(self):
        self.assertEqual(receipt_total([(1, 199), (10, 100)]), 1099)


if __name__ == "__main__":
    unittest.main()
