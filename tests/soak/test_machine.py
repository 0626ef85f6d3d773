"""A short sample of the model: a few stories that are always the same ones."""

from __future__ import annotations

from tests.soak.machine import DONE, drive


def test_the_product_does_what_the_model_says() -> None:
    drive(stories=2, steps=12, derandomize=True)
    assert DONE.total() >= 15
    assert sum(number for name, number in DONE.items() if name.startswith("pytest")) >= 3
