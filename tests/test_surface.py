"""No name that users and programs depend on appears or vanishes by accident."""

from __future__ import annotations

from tests.surface import FILE, compare, parse, read_code, render


def test_the_surface_is_as_listed() -> None:
    differences = [*compare(parse(FILE.read_text(encoding="utf-8")), read_code())]
    assert not differences, "\n".join(
        [*differences, "if this is on purpose, write tests/surface.txt anew: python -m tests.surface"]
    )


def test_the_list_is_sorted_and_has_each_name_once() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert render(parse(text)) == text


def test_a_name_that_comes_or_goes_is_told() -> None:
    before = {"guards": frozenset({"complete-run", "tests-kept"}), "metrics": frozenset({"runs"})}
    now = {"guards": frozenset({"complete-run", "new-code-tested"}), "metrics": frozenset({"runs"})}
    assert [*compare(before, now)] == ["guards: new-code-tested appeared", "guards: tests-kept vanished"]
    assert [*compare(before, {"guards": before["guards"]})] == ["metrics: runs vanished"]
