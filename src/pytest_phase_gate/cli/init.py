"""`phase-gate init`: a commented phase-gate.yaml, for those who want to change something."""

from __future__ import annotations

import argparse

from pytest_phase_gate.cli._answer import Answer, Call
from pytest_phase_gate.errors import NotAllowedError, StorageError

TEMPLATE = """\
# Rules of pytest-phase-gate for this project. Everything here is optional; the values shown are the defaults.

workflow: tdd                    # a shipped workflow, or the path of your own file

# run:                           # defaults of the options
#   exit: gate1                  # tests | gate1 | dual: what pytest's exit status means
#   confirm: false               # run again by itself while green and the streak is short
#   criteria: 1                  # acceptance criteria: a number, or a file that lists them, like docs/criteria.md

# parameters:
#   required_green_runs: 2
#   max_refactor_iterations: 5

# evidence:
#   quality:                     # of code, in REFACTOR: pip install 'pytest-phase-gate[quality]'
#     max_cyclomatic: 10
#     max_cognitive: 15

# phases:
#   GREEN:
#     condition: tests_skipped == 0     # holds in addition to the workflow's own condition
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="print what would be written, and write nothing")


def run(call: Call) -> Answer:
    project = call.project()
    path = project.root / "phase-gate.yaml"
    if call.arguments.dry_run:
        return Answer(text=TEMPLATE.rstrip(), document={"path": str(path), "content": TEMPLATE, "written": False})
    try:
        with open(path, "x", encoding="utf-8") as stream:
            stream.write(TEMPLATE)
    except FileExistsError:
        raise NotAllowedError(f"{path.name} is there already", remedy="edit it; nothing was changed") from None
    except OSError as error:
        raise StorageError(
            f"{path.name} could not be written: {error.strerror}", remedy="make the folder writable"
        ) from error
    return Answer(
        text=f"wrote {path}\n  next: pytest --phase=red",
        document={"path": str(path), "content": TEMPLATE, "written": True},
    )
