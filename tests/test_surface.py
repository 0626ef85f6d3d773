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
