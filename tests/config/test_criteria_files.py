"""Criteria as they are given: a number, or a file in one of several forms; and what is wrong with one, and where."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from phase_gate.cli.workflow import read_schema
from phase_gate.config.criteria_files import CriteriaError, find_criteria, read_criteria
from phase_gate.config.documents import MAX_BYTES

BOTH = [("AC-1", "It adds up"), ("AC-2", "Nothing is 0")]
SCHEMA = jsonschema.Draft7Validator(json.loads(read_schema("criteria-file")))


def read(folder: Path, name: str, text: str | bytes) -> list[tuple[str, str]]:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return [(each.id, each.text) for each in read_criteria(name, base=folder, root=folder).listed]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("a.yaml", "AC-1: It adds up\nAC-2: Nothing is 0\n", id="a-mapping"),
        pytest.param("a.yaml", "criteria:\n  AC-1: It adds up\n  AC-2: Nothing is 0\n", id="a-mapping-under-criteria"),
        pytest.param("a.yaml", "title: Sums\ncriteria: {AC-1: It adds up, AC-2: Nothing is 0}\n", id="beside-others"),
        pytest.param("a.yaml", "- AC-1: It adds up\n- AC-2: Nothing is 0\n", id="a-list-of-pairs"),
        pytest.param("a.yaml", "AC-1: >\n  It adds\n  up\nAC-2: |\n  Nothing\n  is 0\n", id="texts-of-several-lines"),
        pytest.param("a.json", '{"AC-1": "It adds up", "AC-2": "Nothing is 0"}', id="json"),
        pytest.param("a.md", "- [ ] AC-1 It adds up\n- [x] AC-2 Nothing is 0\n", id="markdown"),
    ],
)
def test_forms(tmp_path: Path, name: str, text: str) -> None:
    assert read(tmp_path, name, text) == BOTH
    assert name.endswith(".md") or SCHEMA.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("AC-1:\n", [("AC-1", "")], id="no-text"),
        pytest.param("AC-1: '~'\n", [("AC-1", "~")], id="a-tilde-in-quotes"),
        pytest.param("login.works: It does\n", [("login.works", "It does")], id="any-word-before-a-colon"),
    ],
)
def test_odd_but_plain(tmp_path: Path, text: str, expected: list[tuple[str, str]]) -> None:
    assert read(tmp_path, "a.yaml", text) == expected
    assert SCHEMA.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize(
    "text",
    [
        *("- It adds up\n", "It adds up\n", "- {id: AC-1, text: It adds up}\n", "- {AC-1: a, AC-2: b}\n", "- [AC-1]\n"),
        *("AC-1: [a]\n", "ac 1: a\n", "1a: a\n", "criteria: 3\n", "criteria: {}\n", "[]\n"),
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(tmp_path: Path, text: str) -> None:
    with pytest.raises(CriteriaError):
        read(tmp_path, "a.yaml", text)
    assert not SCHEMA.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.yaml", "AC-1: a\nAC-1: b\n", "a.yaml:2:1: key 'AC-1' again, first in line 1; keep one of the two"),
        ("a.yaml", "- AC-1: a\n- AC-1: c\n", "a.yaml:2: AC-1 occurs twice, first in line 1; give each"),
        ("a.md", "# Sums\n- AC-1 a\n\n- AC-1 b\n", "a.md:4: AC-1 occurs twice, first in line 2; give each"),
        ("a.yaml", "- It adds up\n", "a.yaml:1:3: 'It adds up' is not a criterion with its id; write one per line"),
        ("a.yaml", "1: a\n", "a.yaml:1:1: a criterion can't be called '1'; write one per line, as in `AC-1: "),
        ("a.yaml", "AC-1: [a]\n", "a.yaml:1:7: AC-1 has to be a text, not a list; write one text"),
        ("a.yaml", "criteria: 3\n", "a.yaml:1:11: '3' is not a criterion with its id; write one per line"),
        ("a.yaml", "", "a.yaml:1:1: the file is empty; fill it"),
        ("a.yaml", "criteria: {}\n", "a.yaml: no criterion in it; write one per line, as in `AC-1: "),
        ("a.yaml", "AC-1: a: b\n", "a.yaml:1:8: not YAML: mapping values are not allowed in this context; put"),
        ("a.md", "# Sums\n\nAC-1 is one.\n", "a.md: no criterion in it; write one per line, as in `- [ ] AC-1 "),
        ("a.yaml", b"AC-1: a\nAC-2: \xff\n", "a.yaml:2:7: not UTF-8 text; save the file as UTF-8"),
        ("a.md", "- AC-1 a\x00b\n", "a.md:1:9: the character U+0000 is not allowed in a text file; save"),
        ("a.md", "- AC-1 a\n" + "x" * MAX_BYTES, f"a.md:1:1: bigger than {MAX_BYTES} bytes; remove"),
        ("a.txt", "AC-1 a\n", "'a.txt' is neither a number nor a file of criteria; give a whole number of 1 or more"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, name: str, text: str | bytes, problem: str) -> None:
    with pytest.raises(CriteriaError) as caught:
        read(tmp_path, name, text)
    assert f"{caught.value.problem}; {caught.value.remedy}".startswith(problem)


def test_a_path_starts_at_its_folder_and_is_named_from_the_root(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "sums.md").write_text("- AC-1 a\n- [ ] UTF-8\n", encoding="utf-8")
    criteria = read_criteria("sums.md", base=folder, root=tmp_path)
    assert criteria.file == "docs/sums.md"
    assert [(each.file, each.line) for each in criteria.listed] == [("docs/sums.md", 1)]
    assert [each.line for each in criteria.left_out] == [2]
    outside = read_criteria("../docs/sums.md", base=folder, root=folder)
    assert outside.file == "sums.md"


@pytest.mark.parametrize(("given", "count"), [(1, 1), (7, 7), ("7", 7), ("007", 7)])
def test_a_number(tmp_path: Path, given: int | str, count: int) -> None:
    criteria = read_criteria(given, base=tmp_path, root=tmp_path)
    assert (criteria.count, criteria.listed, criteria.file) == (count, (), "")


@pytest.mark.parametrize("given", [0, "0", "-3"])
def test_a_number_that_is_none(tmp_path: Path, given: int | str) -> None:
    with pytest.raises(CriteriaError, match=f"{given} is not a number of criteria"):
        read_criteria(given, base=tmp_path, root=tmp_path)


@pytest.mark.parametrize("given", ["", "1_0", "2.5", "three", "9" * 5000])
def test_neither_a_number_nor_a_file(tmp_path: Path, given: str) -> None:
    with pytest.raises(CriteriaError, match="is neither a number nor a file of criteria"):
        read_criteria(given, base=tmp_path, root=tmp_path)


def found(text: str) -> list[tuple[str, str]]:
    return [(each.id, each.text) for each in find_criteria(text, file="criteria.md")[0]]


def left_out(text: str) -> list[tuple[int, str]]:
    return [(each.line or 0, each.text) for each in find_criteria(text, file="criteria.md")[1]]


@pytest.mark.parametrize(
    "line",
    [
        "- [ ] AC-1 It adds up",
        "- [X] AC-1: It adds up",
        "- [] AC-1 It adds up",
        "* [ ] AC-1 It adds up",
        "+ AC-1 It adds up",
        "- AC-1:It adds up",
        "- AC-1. It adds up",
        "- (AC-1) It adds up",
        "- AC-1 - It adds up",
        "- AC-1 \u2013 It adds up",
        "* **AC-1**: It adds up",
        "- **AC-1:** It adds up",
        "- __AC-1__ \u2014 It adds up",
        "- **`AC-1`**: It adds up",
        "- [ ] **[AC-1](#ac-1)**: It adds up",
        "12) [ ] AC-1 It adds up",
        "\t- [ ] AC-1   It   adds  up  ",
        "- <!-- from the board --> AC-1 It adds up",
        "- AC-1 It adds up <!-- agreed -->",
    ],
)
def test_a_line_that_gives_a_criterion(line: str) -> None:
    assert found(f"# Sums\n\n{line}\n") == [("AC-1", "It adds up")]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("AC-1: what this is about", id="a-sentence-that-begins-with-it"),
        pytest.param("- see AC-1", id="an-item-that-mentions-it"),
        pytest.param("- [ ] covers AC-1", id="a-box-that-mentions-it"),
        pytest.param("> - [ ] AC-1 It adds up", id="in-a-quote"),
        pytest.param("- ~~AC-1~~ It adds up", id="its-id-struck-out"),
        pytest.param("- ac-1 It adds up", id="in-small-letters"),
        pytest.param("- AC1 It adds up", id="without-a-hyphen"),
        pytest.param("- AC-1/AC-2 It adds up", id="two-at-once"),
        pytest.param("```\n- [ ] AC-1 It adds up\n```", id="in-a-fence"),
        pytest.param("````\n```\n- [ ] AC-1 It adds up\n```\n````", id="in-a-fence-in-a-fence"),
        pytest.param("```\n- [ ] AC-1 It adds up", id="in-a-fence-that-never-ends"),
        pytest.param("<!--\n- [ ] AC-1 It adds up\n-->", id="in-a-comment-of-some-lines"),
    ],
)
def test_a_line_that_gives_none(line: str) -> None:
    assert found(f"# Sums\n\n{line}\n") == []


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("```python\n# AC-2\n```", id="a-fence-with-a-language"),
        pytest.param("``` `a` ```", id="code-that-is-no-fence"),
        pytest.param("a <!-- that never ends", id="a-comment-that-never-ends"),
    ],
)
def test_what_stands_before_hides_nothing(before: str) -> None:
    assert found(f"{before}\n\n- [ ] AC-1 It adds up\n") == [("AC-1", "It adds up")]


@pytest.mark.parametrize("given", ["AC-12", "REQ_12", "US-3-AC-2", "AC-1.4.2", "AC-1a", "V2-7", "R-001"])
def test_what_an_id_looks_like(given: str) -> None:
    assert found(f"- [ ] {given}: It adds up\n") == [(given, "It adds up")]


@pytest.mark.parametrize(
    ("text", "ids", "left"),
    [
        pytest.param("## US-1 Sums\n- [ ] AC-1 a\n- AC-2 b\n", ["AC-1"], [(3, "AC-2 b")], id="with-boxes-nothing-else"),
        pytest.param(
            "- [ ] AC-1 a\n- [ ] Nothing is 0\n", ["AC-1"], [(2, "Nothing is 0")], id="a-box-without-an-id-is-told"
        ),
        pytest.param("- [ ] AC-1 a\n  - [ ] look twice\n", ["AC-1"], [], id="a-box-below-a-criterion-is-a-detail"),
        pytest.param("- AC-1 a\n- [ ] tell the team\n", ["AC-1"], [], id="without-boxes-a-box-is-something-else"),
        pytest.param("- [ ] AC-1 a\n- UTF-8 it is\n", ["AC-1"], [(2, "UTF-8 it is")], id="a-standard-is-none"),
        pytest.param("- [ ] AC-1 a\n- [ ] AC-1 b\n", ["AC-1", "AC-1"], [], id="twice-in-one-form"),
    ],
)
def test_which_ids_count(text: str, ids: list[str], left: list[tuple[int, str]]) -> None:
    assert [each for each, _ in found(text)] == ids
    assert left_out(text) == left
