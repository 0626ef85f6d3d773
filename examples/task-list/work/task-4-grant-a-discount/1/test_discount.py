import unittest

from discount import discounted


class Discounted(unittest.TestCase):
    def test_ten_percent(self):
        self.assertEqual(discounted(1000, 10), 900)
