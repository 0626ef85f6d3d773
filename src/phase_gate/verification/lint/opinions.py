"""What can be said against a verify command or against done-criteria: the rules, as data.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from phase_gate.values import Value


class Opinion(Value):
    """What is to be said against a task: refused, or only flagged."""

    kind: Literal["refused", "flagged"]
    slug: str
    text: str


class Rule(Value):
    """What an opinion means, for the reference, with commands that it is said of."""

    kind: Literal["refused", "flagged"]
    meaning: str
    examples: tuple[str, ...]


RULES: Mapping[str, Rule] = {
    "proves-nothing": Rule(
        kind="refused",
        meaning="it ends with 0 whatever the code does: it prints, shows or prepares something",
        examples=("echo done", "cat src/planner.py", "ls src", "git status", 'python -c "pass"', "[ 1 = 1 ]"),
    ),
    "always-passes": Rule(
        kind="refused",
        meaning="an option turns a failure into 0",
        examples=("ruff check --exit-zero src", "make -i test"),
    ),
    "needs-script": Rule(
        kind="refused",
        meaning="it is more than one command or an `&&` list: a failure could get lost in it. Put it into a script",
        examples=("pytest tests/a.py || true", "pytest tests/a.py | tail", "npm run build; npm test", "pytest > log"),
    ),
    "runs-no-test": Rule(
        kind="refused",
        meaning="a test runner that was told to run nothing",
        examples=("pytest --collect-only tests/a.py", "jest --listTests", "cargo test --no-run", "make -n test"),
    ),
    "needs-shell": Rule(
        kind="refused",
        meaning="only a shell understands it, and none runs it",
        examples=("tsc --noEmit && npm test", "CI=1 npm test"),
    ),
    "not-readable": Rule(
        kind="refused", meaning="a shell would not understand it, either", examples=("pytest 'a", "pytest && ")
    ),
    "too-broad": Rule(
        kind="flagged",
        meaning="it runs every test that there is: slow, and it says little of this task",
        examples=("pytest", "npm test", "make test", "go test ./..."),
    ),
    "passes-without-tests": Rule(
        kind="flagged",
        meaning="an option lets it pass where there is no test at all",
        examples=("jest --passWithNoTests planner", "npm run e2e --if-present"),
    ),
    "vague-done": Rule(
        kind="flagged",
        meaning="the done-criteria name nothing that could be looked at",
        examples=("Task complete", "It works"),
    ),
}


def say(slug: str, text: str) -> Opinion:
    """Return the opinion of that rule."""
    return Opinion(kind=RULES[slug].kind, slug=slug, text=text)
