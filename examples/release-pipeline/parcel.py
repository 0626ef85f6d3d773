"""What a parcel costs."""

import sys


def price(kilograms: int) -> int:
    """Return the price in cents."""
    return 300 + 100 * kilograms


if __name__ == "__main__":
    print(price(int(sys.argv[1])))
