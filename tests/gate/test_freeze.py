"""What is frozen at RED's exit, and what counts as a change to it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

import pytest

from phase_gate.gate.freeze import (
    PROFILE,
    Frozen,
    Meaning,
    PieceFile,
    SupportFile,
    find_altered,
    find_altered_pieces,
    find_changed_settings,
    freeze,
    frozen_from_json,
    frozen_to_json,
)
from phase_gate.gate.inventory import Inventory, TestFile
from phase_gate.gate.measured import Finding
from phase_gate.source.module_code import ModuleStatement, module_code
from phase_gate.source.pieces import hash_piece, is_under_test, lines_of
from phase_gate.source.tests import parse_source
from phase_gate.values import replace


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
    "tests/conftest.py": SupportFile(content="c1", statements=hashes(CONFTEST)),
    "tests/data.csv": SupportFile(content="d1"),
    "tests/helpers.py": SupportFile(content="h1", statements=hashes(HELPERS), requests=("till",)),
}
FROZEN = Frozen(inventory=INVENTORY, support=SUPPORT, settings={"ini addopts": "-q"})
SAME = Meaning(
    support={
        "tests/conftest.py": ("c1", None),
        "tests/data.csv": ("d1", None),
        "tests/helpers.py": ("h1", None),
    }
)


#: `conftest` or `data`, with its content, and its source where that is read; None where it is gone.
Used = Mapping[str, tuple[str, str | None] | None]


def altered(
    file: TestFile | None = None,
    *,
    path: str = "tests/test_a.py",
    around: str | None = None,
    support: Used | None = None,
) -> list[Finding]:
    """Return what is found if one file of tests is another, or one that they use."""
    files = dict(INVENTORY.files)
    if file is not None:
        files[path] = file
    used = dict(SAME.support)
    for name, found in (support or {}).items():
        place = {"conftest": "tests/conftest.py", "data": "tests/data.csv"}[name]
        if found is None:
            del used[place]
        else:
            used[place] = (found[0], None if found[1] is None else statements(found[1]))
    modules = {} if around is None else {path: statements(around)}
    return find_altered(FROZEN, Inventory(files), Meaning(modules=modules, support=used))


def changed(**more: object) -> TestFile:
    return replace(INVENTORY.files["tests/test_a.py"], content="a2", **more)


# --- tests


def test_nothing_changed() -> None:
    assert altered() == []


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(changed(), id="another-content-and-the-same-bodies"),
        pytest.param(changed(bodies={"test_one": "body-1", "test_two": "body-2", "test_new": "n"}), id="one-more-test"),
        pytest.param(changed(ids=("test_one", "test_two[1]", "test_two[2]", "test_two[3]")), id="one-more-parameter"),
        pytest.param(
            changed(ids=("test_two[1]",), bodies={"test_two": "body-2"}), id="one-is-gone-which-another-guard-tells"
        ),
    ],
)
def test_what_may_happen_to_tests(file: TestFile) -> None:
    assert altered(file, around=AROUND) == []


def test_an_altered_body_is_named_once_with_its_hash() -> None:
    (finding,) = altered(changed(bodies={"test_one": "body-1", "test_two": "other"}), around=AROUND)
    assert (finding.slug, finding.tier, finding.id) == ("tests-unchanged", "hard", "tests/test_a.py::test_two")
    assert (finding.proof, finding.file) == ("other", "tests/test_a.py")


def test_a_body_that_can_no_longer_be_seen_is_altered() -> None:
    (finding,) = altered(changed(bodies={"test_two": "body-2"}), around=AROUND)
    assert (finding.id, finding.proof) == ("tests/test_a.py::test_one", "")


def test_a_file_of_tests_without_bodies_is_the_test() -> None:
    (finding,) = altered(TestFile(content="s2", ids=("spec.txt",)), path="tests/spec.txt")
    assert (finding.file, finding.proof) == ("tests/spec.txt", "s2")


def test_a_file_that_is_gone_is_told_by_another_guard() -> None:
    assert find_altered(FROZEN, Inventory({}), SAME) == []


# --- the code around them


def test_code_around_tests_may_grow() -> None:
    assert altered(changed(), around=f"{AROUND}import os\nMORE = 1\n") == []


@pytest.mark.parametrize(
    ("around", "lines"),
    [
        pytest.param("import pytest\nLIMIT = 4\n", [None], id="a-constant-is-another"),
        pytest.param("import pytest\n", [None], id="a-constant-is-gone"),
        pytest.param(f"{AROUND}LIMIT = 4\n", [3], id="a-constant-is-given-anew"),
        pytest.param(f"{AROUND}pytestmark = pytest.mark.skip\nLIMIT = 4\n", [3, 4], id="two-lines"),
    ],
)
def test_code_around_tests_changed(around: str, lines: list[int | None]) -> None:
    found = altered(changed(), around=around)
    assert [finding.line for finding in found] == lines
    assert {finding.file for finding in found} == {"tests/test_a.py"}


def test_the_proof_of_changed_code_is_the_code_not_the_text() -> None:
    one, same, other = (
        altered(changed(), around=f"import pytest\n{line}\n")[0].proof
        for line in ("LIMIT = 4", "LIMIT = (4)  # four", "LIMIT = 5")
    )
    assert one == same != other


def test_a_new_file_of_tests_is_free() -> None:
    new = TestFile(content="n", ids=("test_new",), bodies={"test_new": "n"})
    assert altered(new, path="tests/test_new.py", around="pytestmark = 1\n") == []


# --- files that they use


#: What is said of a file that tests use.
USED = "the tests use this file, and it was changed after RED"


@pytest.mark.parametrize(
    ("support", "details"),
    [
        pytest.param({"data": ("d2", None)}, [USED], id="data-changed"),
        pytest.param({"data": None}, ["the tests use this file, and it is gone"], id="data-gone"),
        pytest.param({"conftest": ("c2", CONFTEST)}, [], id="code-reformatted"),
        pytest.param({"conftest": ("c2", f"{CONFTEST}\ndef more(): ...\n")}, [], id="code-grew"),
        pytest.param(
            {"conftest": ("c2", CONFTEST.replace("1", "2"))},
            [USED, USED],  # one is gone, another came
            id="code-changed",
        ),
        pytest.param(
            {"conftest": ("c2", f"{CONFTEST}\ndef pytest_configure(): ...\n")},
            [USED],
            id="a-hook-came",
        ),
        pytest.param({"conftest": None}, ["the tests use this file, and it is gone"], id="code-gone"),
        pytest.param({"conftest": ("c2", None)}, [USED], id="code-that-nobody-read"),
    ],
)
def test_files_that_tests_use(support: Used, details: list[str]) -> None:
    found = altered(support=support)
    assert [finding.detail for finding in found] == details


def test_a_test_that_was_inherited_and_stands_in_its_file_now() -> None:
    files = {**INVENTORY.files}
    files["tests/test_a.py"] = replace(
        files["tests/test_a.py"], content="a2", bodies={**files["tests/test_a.py"].bodies, "made_at_run_time": "body-3"}
    )
    found = find_altered(FROZEN, Inventory(files), SAME)
    assert [(finding.id, finding.proof) for finding in found] == [("tests/test_a.py::made_at_run_time", "body-3")]


def test_what_was_frozen_is_no_output_whoever_wrote_it() -> None:
    support = {path: row for path, row in SAME.support.items() if path != "tests/data.csv"}
    found = find_altered(FROZEN, INVENTORY, Meaning(support=support, written=frozenset({"tests/data.csv"})))
    assert [(finding.file, finding.detail, finding.change) for finding in found] == [
        ("tests/data.csv", "the tests use this file, and it is gone", "gone")
    ]


def test_a_text_of_tests_that_the_run_began_with_in_another_form() -> None:
    found = find_altered(FROZEN, INVENTORY, replace(SAME, rewritten=("docs/how.txt",)))
    assert [(finding.file, finding.detail, finding.change) for finding in found] == [
        ("docs/how.txt", "this test file changed during the run", "altered")
    ]


@pytest.mark.parametrize(
    ("path", "is_change"),
    [
        pytest.param("conftest.py", True, id="at-the-root"),
        pytest.param("tests/unit/conftest.py", False, id="below-where-no-frozen-test-is"),
        pytest.param("src/conftest.py", False, id="beside"),
        pytest.param("test/conftest.py", False, id="a-folder-whose-name-begins-alike"),
        pytest.param("tests/helper.py", False, id="another-new-file"),
    ],
)
def test_a_new_conftest_above_frozen_tests(path: str, is_change: bool) -> None:
    meaning = Meaning(support={**SAME.support, path: ("new", statements(""))})
    found = find_altered(FROZEN, INVENTORY, meaning)
    expected = [(path, "new", "added")] if is_change else []
    assert [(finding.file, finding.proof, finding.change) for finding in found] == expected


# --- settings


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        pytest.param({"ini addopts": "-q"}, [], id="the-same"),
        pytest.param({"ini addopts": "-v"}, ["ini addopts: was '-q', is '-v'"], id="another-value"),
        pytest.param({}, ["ini addopts: was '-q', is not set"], id="gone"),
        pytest.param(
            {"ini addopts": "-q", "ini b": "1", "ini a": "2"},
            ["ini a: was not set, is '2'", "ini b: was not set, is '1'"],
            id="two-more-in-order",
        ),
        pytest.param({"ini addopts": "x" * 99}, [f"ini addopts: was '-q', is '{'x' * 57}...'"], id="a-long-one-is-cut"),
    ],
)
def test_settings(settings: dict[str, str], told: list[str]) -> None:
    found = find_changed_settings(FROZEN, settings)
    assert [f"{finding.id}: {finding.detail}" for finding in found] == told
    assert all((finding.slug, finding.tier) == ("rules-unchanged", "hard") for finding in found)


def test_a_long_value_is_shown_where_it_differs() -> None:
    before = "tests_total > 0 AND tests_failing == 0 AND tests_passing == tests_total AND consecutive_green_runs >= 2"
    frozen = replace(FROZEN, settings={"condition": before})
    (found,) = find_changed_settings(frozen, {"condition": before.replace(">= 2", ">= 1")})
    assert found.detail == "was '...utive_green_runs >= 2', is '...utive_green_runs >= 1'"


def test_two_long_values_are_two_findings() -> None:
    one, two = (find_changed_settings(FROZEN, {"ini addopts": "x" * 99 + end}) for end in "ab")
    assert one[0].detail == two[0].detail
    assert one[0].key != two[0].key, "a waiver of one does not cover the other"


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


# --- what comes between a test and what it uses


def fixture(name: str) -> str:
    return f"@pytest.fixture\ndef {name}():\n    return 2\n"


@pytest.mark.parametrize("name", ["cart", "tmp_path", "till"])
def test_a_new_fixture_between_a_test_and_what_it_asks_for(name: str) -> None:
    (in_file,) = altered(changed(), around=AROUND + fixture(name))
    assert (in_file.file, in_file.line) == ("tests/test_a.py", 4)


@pytest.mark.parametrize("name", ["tmp_path", "till"])
def test_a_new_fixture_above_a_test_that_asks_for_it(name: str) -> None:
    (above,) = altered(support={"conftest": ("c2", CONFTEST + fixture(name))})
    assert (above.file, above.line) == ("tests/conftest.py", 8)


def test_a_new_fixture_that_nobody_asked_for_may_come() -> None:
    assert altered(changed(), around=AROUND + fixture("other")) == []
    assert altered(support={"conftest": ("c2", CONFTEST + fixture("other"))}) == []


@pytest.mark.parametrize(
    ("path", "packages", "is_hiding"),
    [
        pytest.param("tests/helpers/__init__.py", (), True, id="a-package-wins-over-a-module"),
        pytest.param("tests/a/helpers.py", (), True, id="a-folder-that-is-put-first-on-the-path"),
        pytest.param("tests/a/helpers.py", ("tests/a",), False, id="a-module-of-a-package-has-another-name"),
        pytest.param("tests/more.py", (), False, id="another-name"),
        pytest.param("tests/helpers.txt", (), False, id="no-module"),
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
        pytest.param({PROFILE: "quick"}, {}, [], id="no-test-uses-it-any-more"),
    ],
)
def test_a_profile_of_hypothesis_is_named_where_it_changed(
    before: dict[str, str], now: dict[str, str], tiers: list[str]
) -> None:
    assert [each.tier for each in find_changed_settings(replace(FROZEN, settings=before), now)] == tiers


# --- pieces of tests in sources: what changes one, and what does not

SOURCE = """\
RATE = 10


def helper(value):
    return value


def check(value):
    def inner():
        assert value

    inner()


class Base:
    rate = RATE

    def setUp(self):
        self.price = 1

    def test_total(self):
        assert self.price
"""


def exchange(old: str, new: str) -> str:
    assert old in SOURCE
    return SOURCE.replace(old, new)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        pytest.param("check", f"{SOURCE}check = print\n", id="the-name-is-bound-again"),
        pytest.param("check", f"{SOURCE}from easy import check\n", id="the-name-is-imported-again"),
        pytest.param("check", f"{SOURCE}if RATE:\n    def check(value): ...\n", id="bound-under-a-condition"),
        pytest.param("Base", exchange("rate = RATE", "rate = 1"), id="an-attribute-of-the-class"),
        pytest.param("Base", exchange("class Base", "class Base(Easy)"), id="a-base-of-the-class"),
        pytest.param("Base", exchange("rate =", "def assertEqual(*args): ...\n\n    rate ="), id="one-more-method"),
        pytest.param("Base.test_total", exchange("assert self.price", "pass"), id="a-test-of-the-class"),
        pytest.param("Base.test_total", f"{SOURCE}Base = object\n", id="the-class-is-bound-again"),
        pytest.param("Base.test_total", exchange("test_total", "test_other"), id="gone"),
    ],
)
def test_what_changes_a_piece(name: str, changed: str) -> None:
    assert hash_piece(parse_source(changed), name) != hash_piece(parse_source(SOURCE), name) != ""


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        pytest.param("check", exchange("return value", "return 2"), id="a-function-beside-it"),
        pytest.param("check", exchange("assert value", "assert (value)  # so"), id="another-form"),
        pytest.param("Base", exchange("assert self.price", "pass"), id="a-test-is-a-piece-of-its-own"),
        pytest.param("Base", f"{SOURCE}\n    def test_more(self): ...\n", id="one-more-test"),
        pytest.param("Base.test_total", exchange("self.price = 1", "self.price = 2"), id="a-method-beside-it"),
    ],
)
def test_what_does_not_change_a_piece(name: str, changed: str) -> None:
    assert hash_piece(parse_source(changed), name) == hash_piece(parse_source(SOURCE), name) != ""


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        pytest.param("helper", {4, 5}, id="a-function"),
        pytest.param("Base", {16, 18, 19}, id="a-class-without-its-tests"),
        pytest.param("Base.test_total", {21, 22}, id="a-test"),
        pytest.param("absent", set(), id="nothing"),
    ],
)
def test_lines(name: str, lines: set[int]) -> None:
    assert {line for each in lines_of(parse_source(SOURCE), name) for line in each} == lines


@pytest.mark.parametrize(
    ("file", "raised", "expected"),
    [
        pytest.param("shop/testing.py", {5}, True, id="it-raised"),
        pytest.param("shop/testing.py", {1, 7}, False, id="something-beside-it-raised"),
        pytest.param("shop/calc.py", (), True, id="a-file-of-tests-is-named-after-it"),
        pytest.param("calc/__init__.py", (), True, id="or-after-its-package"),
    ],
)
def test_what_may_be_under_test(file: str, raised: Collection[int], expected: bool) -> None:
    lines = lines_of(parse_source(SOURCE), "helper")
    assert is_under_test(file, lines, tests=["tests/test_calc.py"], raised=raised) is expected


def test_what_is_told_of_pieces() -> None:
    frozen = {"shop/testing.py": PieceFile(content="1", names={"check": "a", "Base": "b", "gone": "c"})}
    now = {"shop/testing.py": PieceFile(content="2", names={"check": "a", "Base": "x"})}
    found = list(find_altered_pieces(frozen, now))
    assert [(each.file, each.detail, each.proof) for each in found] == [
        ("shop/testing.py", "the tests use Base, and it was changed after RED", "x"),
        ("shop/testing.py", "the tests use gone, and it is gone", ""),
    ]
    assert [each.tier for each in find_altered_pieces(frozen, {})] == ["hard"] * 3
