"""Who is measured: each is a command line that runs the same suite."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass

_OURS = ("-p", "phase_gate.plugin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    name: str
    arguments: tuple[str, ...] = ()
    #: The module that has to be installed.
    needs: str | None = None

    @property
    def is_here(self) -> bool:
        return self.needs is None or importlib.util.find_spec(self.needs) is not None

    def command(self, *more: str) -> list[str]:
        quiet = ("-q", "--no-header", "-p", "no:cacheprovider")
        return [sys.executable, "-m", "pytest", *quiet, *self.arguments, *more]


BARE = Contender(name="bare pytest")
AGAIN = Contender(name="bare pytest again (control)")
INACTIVE = Contender(name="phase-gate, not used", arguments=_OURS)
ACTIVE = Contender(name="phase-gate, --phase=green", arguments=(*_OURS, "--phase=green", "--phase-exit=tests"))
COUNTING = Contender(name="a plugin that only counts", arguments=("-p", "counting"))
JUNIT = Contender(name="--junitxml", arguments=("--junitxml=out.xml",))

CONTENDERS = (
    BARE,
    AGAIN,
    COUNTING,
    ACTIVE,
    JUNIT,
    Contender(
        name="--report-log",
        arguments=("-p", "pytest_reportlog.plugin", "--report-log=out.jsonl"),
        needs="pytest_reportlog",
    ),
    Contender(
        name="pytest-json-report",
        arguments=(
            *("-p", "pytest_jsonreport.plugin", "-p", "pytest_metadata.plugin"),
            *("--json-report", "--json-report-file=out.json"),
        ),
        needs="pytest_jsonreport",
    ),
    Contender(
        name="pytest-html",
        arguments=("-p", "pytest_html.plugin", "-p", "pytest_metadata.plugin", "--html=out.html"),
        needs="pytest_html",
    ),
    Contender(name="tdd-guard-pytest", arguments=("-p", "tdd_guard_pytest.pytest_reporter"), needs="tdd_guard_pytest"),
)


def present() -> list[Contender]:
    return [contender for contender in CONTENDERS if contender.is_here]
