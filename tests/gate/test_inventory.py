"""What is frozen at RED's exit, and what counts as a change to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phase_gate.gate.inventory import (
    PROFILE,
    Frozen,
    Inventory,
    Meaning,
    TestFile,
    find_altered,
    find_altered_pieces,
    find_changed_settings,
    freeze,
    frozen_from_json,
    frozen_to_json,
)
from phase_gate.gate.measured import Finding
from phase_gate.source.module_code import ModuleStatement, module_code
from phase_gate.source.tests import parse_source
from phase_gate.values import replace
from tests.tables import named


def statements(source: str) -> tuple[ModuleStatement, ...]:
    return module_code(parse_source(source), tests=())


def hashes(source: str) -> tuple[str, ...]:
    return tuple(row.hash for row in statements(source))


AROUND = "import pytest\nLIMIT = 3\n"
CONFTEST = "import pytest\n\n\n@pytest.fixture\ndef cart():\n    return 1\n"
HELPERS = "@pytest.fixture\ndef other(till):\n    return till\n"

INVENTORY = Inventory(
    {
        "tests/test_a.py": TestFile(
            content="a1",
            ids=("test_one", "test_two[1]", "test_two[2]", "made_at_run_time"),
            bodies={"test_one": "body-1", "test_two": "body-2"},
            statements=hashes(AROUND),
            requests=("cart", "tmp_path"),
        ),
        "tests/spec.txt": TestFile(content="s1", ids=("spec.txt",)),
    }
)
SUPPORT = {
    "tests/conftest.py": TestFile(content="c1", statements=hashes(CONFTEST)),
    "tests/data.csv": TestFile(content="d1"),
    "tests/helpers.py": TestFile(content="h1", statements=hashes(HELPERS), requests=("till",)),
}
FROZEN = Frozen(inventory=INVENTORY, support=SUPPORT, settings={"ini addopts": "-q"})
SAME = Meaning(
    support={
        "tests/conftest.py": ("c1", None),
        "tests/data.csv": ("d1", None),
        "tests/helpers.py": ("h1", None),
    }
)


def changed(**more: object) -> TestFile:
    return replace(INVENTORY.files["tests/test_a.py"], content="a2", **more)


def altered(
    file: TestFile | None = None,
    *,
    path: str = "tests/test_a.py",
    around: str | None = None,
    conftest: str = CONFTEST,
    **support: tuple[str, None] | None,
) -> list[Finding]:
    """Return what is found if a file of tests, the code around them, or a file that they use is another."""
    files = INVENTORY.files if file is None else {**INVENTORY.files, path: file}
    used = {**SAME.support, **{f"tests/{name}.csv": row for name, row in support.items()}}
    if conftest != CONFTEST:
        used["tests/conftest.py"] = ("c2", statements(conftest))
    present = {name: row for name, row in used.items() if row is not None}
    modules = {} if around is None else {path: statements(around)}
    return find_altered(FROZEN, Inventory(files), Meaning(modules=modules, support=present))


def fixture(name: str) -> str:
    return f"@pytest.fixture\ndef {name}():\n    return 2\n"


BODIES = {"test_one": "body-1", "test_two": "body-2"}
TEST_A, CONFTEST_PY, DATA = "tests/test_a.py", "tests/conftest.py", "tests/data.csv"


@pytest.mark.parametrize(
    ("change", "places"),
    named(
        {
            "nothing": ({}, []),
            "another-content-and-the-same-bodies": ({"file": changed(), "around": AROUND}, []),
            "one-is-gone-which-another-guard-tells": (
                {"file": changed(ids=("test_two[1]",), bodies={"test_two": "body-2"}), "around": AROUND},
                [],
            ),
            "a-body": (
                {"file": changed(bodies={**BODIES, "test_two": "x"}), "around": AROUND},
                [f"{TEST_A}::test_two"],
            ),
            "a-body-that-can-no-longer-be-seen": (
                {"file": changed(bodies={"test_two": "body-2"}), "around": AROUND},
                [f"{TEST_A}::test_one"],
            ),
            "inherited-and-standing-in-its-file-now": (
                {"file": changed(bodies={**BODIES, "made_at_run_time": "body-3"}), "around": AROUND},
                [f"{TEST_A}::made_at_run_time"],
            ),
            "a-file-that-is-the-test": (
                {"file": TestFile(content="s2", ids=("spec.txt",)), "path": "tests/spec.txt"},
                ["tests/spec.txt"],
            ),
            "a-new-file-of-tests": (
                {
                    "file": TestFile(content="n", ids=("test_new",), bodies={"test_new": "n"}),
                    "path": "tests/test_new.py",
                    "around": "pytestmark = 1\n",
                },
                [],
            ),
            "the-code-around-grew": ({"file": changed(), "around": f"{AROUND}import os\nMORE = 1\n"}, []),
            "a-constant-is-another": ({"file": changed(), "around": "import pytest\nLIMIT = 4\n"}, [TEST_A]),
            "two-lines": (
                {"file": changed(), "around": f"{AROUND}pytestmark = pytest.mark.skip\nLIMIT = 4\n"},
                [f"{TEST_A}:3", f"{TEST_A}:4"],
            ),
            "a-fixture-between-a-test-and-what-it-asks-for": (
                {"file": changed(), "around": AROUND + fixture("cart")},
                [f"{TEST_A}:4"],
            ),
            "a-fixture-that-nobody-asked-for": ({"file": changed(), "around": AROUND + fixture("other")}, []),
            "data": ({"data": ("d2", None)}, [DATA]),
            "data-is-gone": ({"data": None}, [DATA]),
            "a-conftest": ({"conftest": CONFTEST.replace("1", "2")}, [f"{CONFTEST_PY}:5"]),
            "a-hook-came": ({"conftest": f"{CONFTEST}\ndef pytest_configure(): ...\n"}, [f"{CONFTEST_PY}:8"]),
            "a-fixture-above-a-test-that-asks-for-it": (
                {"conftest": CONFTEST + fixture("till")},
                [f"{CONFTEST_PY}:8"],
            ),
        }
    ),
)
def test_what_changed(change: dict[str, Any], places: list[str]) -> None:
    found = altered(**change)
    assert [finding.place for finding in found] == places
    assert {(finding.slug, finding.tier) for finding in found} <= {("tests-unchanged", "hard")}


def test_the_proof_of_changed_code_is_the_code_not_the_text() -> None:
    one, same, other = (
        altered(changed(), around=f"import pytest\n{line}\n")[0].proof
        for line in ("LIMIT = 4", "LIMIT = (4)  # four", "LIMIT = 5")
    )
    assert one == same != other


def test_a_text_of_tests_that_the_run_began_with_in_another_form() -> None:
    (found,) = find_altered(FROZEN, INVENTORY, replace(SAME, rewritten=("docs/how.txt",)))
    assert (found.file, found.detail) == ("docs/how.txt", "was changed during the run")


@pytest.mark.parametrize(
    ("path", "is_change"),
    [
        pytest.param("conftest.py", True, id="at-the-root"),
        pytest.param("tests/unit/conftest.py", False, id="below-where-no-frozen-test-is"),
        pytest.param("tests/helper.py", False, id="another-new-file"),
    ],
)
def test_a_new_conftest_above_frozen_tests(path: str, is_change: bool) -> None:
    meaning = Meaning(support={**SAME.support, path: ("new", statements(""))})
    assert [finding.file for finding in find_altered(FROZEN, INVENTORY, meaning)] == [path] * is_change


# --- settings


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        pytest.param({"ini addopts": "-q"}, [], id="the-same"),
        pytest.param({"ini addopts": "-v"}, ["ini addopts: was '-q', is '-v'"], id="another-value"),
        pytest.param({}, ["ini addopts: was '-q', is not set"], id="gone"),
        pytest.param({"ini addopts": "x" * 99}, [f"ini addopts: was '-q', is '{'x' * 59}…'"], id="a-long-one-is-cut"),
    ],
)
def test_settings(settings: dict[str, str], told: list[str]) -> None:
    found = find_changed_settings(FROZEN.settings, settings)
    assert [f"{finding.id}: {finding.detail}" for finding in found] == told
    assert all((finding.slug, finding.tier) == ("rules-unchanged", "hard") for finding in found)


# --- keeping it


def test_a_freeze_keeps_hashes_of_code_and_contents_of_data() -> None:
    meaning = Meaning(
        support={
            "tests/conftest.py": ("c1", statements(CONFTEST)),
            "tests/data.csv": ("d1", None),
            "tests/helpers.py": ("h1", statements(HELPERS)),
        },
        settings={"ini addopts": "-q"},
    )
    assert freeze(INVENTORY, meaning) == FROZEN
    assert find_altered(freeze(INVENTORY, meaning), INVENTORY, meaning) == []


def test_through_json() -> None:
    document = json.loads(json.dumps(frozen_to_json(FROZEN, inventory="digest")))
    assert document["inventory"] == "digest"
    assert frozen_from_json(document, INVENTORY) == FROZEN


@pytest.mark.parametrize(
    ("path", "packages", "is_hiding"),
    [
        pytest.param("tests/helpers/__init__.py", (), True, id="a-package-wins-over-a-module"),
        pytest.param("tests/a/helpers.py", (), True, id="a-folder-that-is-put-first-on-the-path"),
        pytest.param("tests/a/helpers.py", ("tests/a",), False, id="a-module-of-a-package-has-another-name"),
    ],
)
def test_a_new_module_of_the_name_of_a_helper(path: str, packages: tuple[str, ...], is_hiding: bool) -> None:
    new = dict.fromkeys((path, *(f"{package}/__init__.py" for package in packages)), ("n1", ()))
    found = find_altered(FROZEN, INVENTORY, replace(SAME, support={**SAME.support, **new}))
    assert [finding.file for finding in found] == ([path] if is_hiding else [])


@pytest.mark.parametrize(
    ("before", "now", "tiers"),
    [
        pytest.param({PROFILE: "default"}, {PROFILE: "quick"}, ["advisory"], id="another"),
        pytest.param({}, {PROFILE: "quick"}, [], id="a-test-brings-hypothesis-along"),
    ],
)
def test_a_profile_of_hypothesis_is_named_where_it_changed(
    before: dict[str, str], now: dict[str, str], tiers: list[str]
) -> None:
    assert [each.tier for each in find_changed_settings(before, now)] == tiers


def test_what_is_told_of_pieces() -> None:
    frozen = {"shop/testing.py": TestFile(content="1", bodies={"check": "a", "Base": "b", "gone": "c"})}
    now = {"shop/testing.py": TestFile(content="2", bodies={"check": "a", "Base": "x"})}
    found = list(find_altered_pieces(frozen, now))
    assert [(each.file, each.detail, each.proof) for each in found] == [
        ("shop/testing.py", "the tests use Base, and it was changed after RED", "x"),
        ("shop/testing.py", "the tests use gone, and it is gone", ""),
    ]
    assert [each.tier for each in find_altered_pieces(frozen, {})] == ["hard"] * 3
