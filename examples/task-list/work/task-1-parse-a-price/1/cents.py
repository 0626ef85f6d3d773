"""Prices as people write them."""

import re


def parse_price(text):
    """Return the cents of a price like 12.50 or 12,50."""
    found = re.fullmatch(r"(\d+)[.,](\d\d)", text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no price")
    return 100 * int(found[1]) + int(found[2])
