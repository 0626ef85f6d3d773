"""`python -m tests.releases.notes TAG`: what CHANGELOG.md says of a release."""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parent.parent.parent / "CHANGELOG.md"


def find_notes(text: str, tag: str) -> str:
    """Return the section of the version that the tag names; empty if there is none."""
    version = re.escape(tag.removeprefix("v"))
    found = re.search(rf"^## {version} \([0-9-]+\)\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found[1].strip() if found else ""


def main() -> int:
    (tag,) = sys.argv[1:]
    notes = find_notes(CHANGELOG.read_text(encoding="utf-8"), tag)
    if not notes:
        print(f"CHANGELOG.md has no section of {tag}: see RELEASING.md", file=sys.stderr)
        return 1
    print(notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
