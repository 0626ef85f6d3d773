import unittest

from show import show_price


class ShowPrice(unittest.TestCase):
    def test_cents(self):
        self.assertEqual(show_price(1250), "12.50 EUR")

    def test_small(self):
        self.assertEqual(show_price(5), "0.05 EUR")
