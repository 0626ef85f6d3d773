"""Taxes."""


def with_tax(cents, rate):
    """Return the price with tax, in whole cents."""
    return round(cents * (100 + rate) / 100)
