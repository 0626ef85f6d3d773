"""Prices for people."""


def show_price(cents):
    """Return 12.50 EUR for 1250."""
    return f"{cents // 100}.{cents % 100:02} EUR"
