import unittest

from discount import discounted


class Discounted(unittest.TestCase):
    def test_ten_percent(self):
        self.assertEqual(discounted(1000, 10), 900)

    def test_more_than_all(self):
        with self.assertRaises(ValueError):
            discounted(1000, 120)
