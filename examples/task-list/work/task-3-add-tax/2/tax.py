"""Taxes."""


def with_tax(cents, rate):
    """Return the price with tax, in whole cents: half a cent goes up."""
    return (cents * (100 + rate) + 50) // 100
