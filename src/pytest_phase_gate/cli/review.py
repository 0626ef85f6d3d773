"""`phase-gate review`: step 3 of the verification gate, the reviewer's verdict."""

from __future__ import annotations

import argparse

from pytest_phase_gate.cli._answer import Answer, Call


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the verdict as YAML (phase-gate schema verdict); - for input")
    parser.add_argument("--by", metavar="NAME", help="who reviewed it; must not be who executed it")


def run(call: Call) -> Answer:
    from pytest_phase_gate.cli._verify_review import review

    return review(call)
