"""The condition language (placeholder: being written)."""

from __future__ import annotations


class Condition:
    text: str
