import re

VERSION = "1.2.0"


def test_a_version_has_three_numbers():
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
