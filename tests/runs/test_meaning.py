"""Which folders tests have to themselves, where the settings name some and where they do not."""

from __future__ import annotations

import pytest

from phase_gate.runs.meaning import find_test_folders

ROWS = {
    "nothing is set": ((), ["tests/test_a.py", "src/a.py"], {"tests"}),
    "the root": ((".",), ["tests/test_a.py", "a.py"], {"tests"}),
    "a folder of tests": (("tests",), ["tests/test_a.py", "tests/unit/tests/test_b.py", "a.py"], {"tests"}),
    "another name": (("checks",), ["checks/test_a.py", "checks/rows.csv", "a.py"], {"checks"}),
    "another name for files, too": (("checks",), ["checks/check_a.py", "checks/rows.csv"], {"checks"}),
    "a slash at the end": (("checks/",), ["checks/test_a.py"], {"checks"}),
    "a package with its tests": (
        ("shop",),
        ["shop/price.py", "shop/tests/test_price.py", "shop/tax/tests/test_tax.py"],
        {"shop/tests", "shop/tax/tests"},
    ),
    "a package with tests beside the code": (("shop",), ["shop/price.py", "shop/test_price.py"], {"shop"}),
    "some beside the code": (("shop",), ["shop/test_price.py", "shop/tests/test_tax.py"], {"shop"}),
    "sources with examples": (("tests", "src"), ["tests/test_a.py", "src/a.py"], {"tests"}),
    "only sources with examples": (("src",), ["src/a.py"], set()),
}


@pytest.mark.parametrize(("testpaths", "paths", "expected"), ROWS.values(), ids=ROWS)
def test_finds(testpaths: tuple[str, ...], paths: list[str], expected: set[str]) -> None:
    assert find_test_folders(testpaths, paths) == expected
