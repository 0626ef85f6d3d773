"""The pytest plugin's entry: options, hook specifications, marker, lazy start.

Every pytest start pays for this module, so it imports nothing that pytest has not loaded. Without `--phase` it
only registers the hook specifications and the markers, so that projects with strict settings work.

PYTEST_DONT_REWRITE: there is no assert in here, and rewriting would slow down every start.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Generator

import pytest

#: What others may implement.
HOOKS = (
    "pytest_phase_gate_metrics",
    "pytest_phase_gate_guards",
    "pytest_phase_gate_workflows",
    "pytest_phase_gate_evaluated",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("phase gate", "phase gate: is this test-driven step really done?")
    add = group.addoption
    # Set by `phase-gate verify run` for every process that its command starts; a phase that is typed wins over it.
    verifying = os.environ.get("PHASE_GATE_PHASE")
    add(
        "--phase",
        metavar="NAME",
        default=verifying,
        help="Record this run in that phase: red, green, refactor, document, or auto",
    )
    add("--phase-task", metavar="NAME", help="Which task the run belongs to (also PHASE_GATE_TASK)")
    add(
        "--phase-exit",
        choices=("tests", "gate1", "dual"),
        default=None if verifying is None else "tests",
        help="What the exit status means: pytest's own, Gate 1 (default), or both gates",
    )
    add(
        "--phase-confirm",
        action="store_true",
        default=None,
        help="Run again in a fresh process while the run is green but the streak is short",
    )
    add("--exit-signal", metavar="REASON", help="Give the exit signal 'done' for this very run")
    add(
        "--phase-criteria",
        metavar="N|FILE",
        help="Acceptance criteria: their number, or a file that lists them with ids",
    )
    add(
        "--phase-report",
        metavar="FILE",
        action="append",
        help="Write the evaluation to FILE, by its suffix: .json, .md, .env (dotenv); .html tells the"
        " task's whole story. May be repeated.",
    )
    add(
        "--phase-shard",
        metavar="I/N",
        help="This run is shard I of N. phase-gate ci combine makes one run of all",
    )
    add("--phase-workflow", metavar="NAME", help="Other workflow: a shipped one or a YAML file")
    add("--phase-dir", metavar="DIR", help="Other state folder (also PHASE_GATE_DIR)")
    # For runs that our own commands start; not for people.
    add("--phase-confirming", metavar="I/N", help=argparse.SUPPRESS)
    add("--phase-baseline", metavar="REV", help=argparse.SUPPRESS)


def pytest_plugin_registered(manager: pytest.PytestPluginManager) -> None:
    # Seldom one implements our hooks, and to specify them takes as long as all the rest of this module.
    callers = vars(manager.hook)
    for name in HOOKS:
        if name in callers and not callers[name].has_spec():
            from phase_gate import hookspecs

            manager.add_hookspecs(hookspecs)
            return


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    known = early_config.known_args_namespace
    if getattr(known, "phase", None) is not None or getattr(known, "phase_baseline", None) is not None:
        # Before the project's code runs: record the modules of pytest and Python, and whether a signal file exists.
        from phase_gate.recording import scan_options

        scan_options(early_config)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "criterion(*ids): the acceptance criteria that this test shows")
    config.addinivalue_line("markers", "passes_already(reason): guards what works already; in RED it does not count")
    if config.getoption("phase") is None and config.getoption("phase_baseline") is None:
        for name in ("--phase-shard", "--exit-signal", "--phase-confirm", "--phase-report"):
            # What an ini file adds to every run is not meant for those without a phase.
            if any(word.partition("=")[0] == name for word in config.invocation_params.args):
                raise pytest.UsageError(f"{name} without --phase records nothing\n  try: add --phase=green")
        return  # not asked for: not one hook is registered, nothing else is imported
    from phase_gate.recording import start

    if config.getoption("phase") is not None and config.getoption("phase_shard") is not None:
        from phase_gate.shards.shard_session import ShardSession

        start(config, ShardSession)
    else:
        start(config)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    # Around the whole session: only when it has ended, output and all, may a confirming run begin.
    result = yield
    if config.getoption("phase", None) is None:
        return result
    from phase_gate.recording import confirm

    confirmed = confirm(config)
    return result if confirmed is None else confirmed
