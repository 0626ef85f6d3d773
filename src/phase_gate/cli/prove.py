"""`phase-gate prove`: run the targets without the change, with it, and with functions emptied."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._plugin import require_plugin
from phase_gate.cli._streams import say_progress
from phase_gate.codec import spell_out
from phase_gate.errors import NotAllowedError
from phase_gate.proof.base import find_change, prove_change
from phase_gate.proof.experiment import is_objection
from phase_gate.proof.model import Proof
from phase_gate.proof.show import proof_markdown, proof_text
from phase_gate.proof.suite import prove_suite, suite_document, suite_markdown, suite_places, suite_text
from phase_gate.proof.task import prove_now
from phase_gate.report.ci import CiOutput, tell_places
from phase_gate.storage.references import blobs_of, find_commit
from phase_gate.storage.root import relative_id
from phase_gate.storage.store import now


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base", metavar="REV", help="compare with this git revision; needs no phases")
    parser.add_argument(
        "--suite", metavar="PATH", nargs="*", help="find tests whose checks can't fail; needs neither phases nor git"
    )
    parser.add_argument("--exclude", metavar="GLOB", action="append", default=[], help="leave these test files out")
    parser.add_argument("--require", action="store_true", help="with --base: exit 10 for unknown and flaky tests, too")
    parser.add_argument("--seconds", metavar="N", type=float, help="how long it may take; 30 unless set")
    parser.add_argument("--markdown", action="store_true", help="print Markdown, for the summary of a CI job")
    parser.add_argument("--keep-sandbox", metavar="DIR", help="copy both sandboxes there, and leave them")


def run(call: Call) -> Answer:
    require_plugin()
    if call.arguments.suite is not None:
        return _prove_suite(call)
    if call.arguments.base is None:
        return _prove_task(call)
    given, project = call.arguments, call.project()
    root = project.root
    commit = find_commit(root, given.base)
    present, before = project.take_tree().files, blobs_of(root, commit)
    change = find_change(root, commit, present, before, left_out=given.exclude)
    proof = prove_change(
        root,
        change,
        present,
        before,
        seconds=given.seconds or project.configuration.proof.seconds,
        at=now(),
        show=say_progress,
        keep_in=_keep_in(call),
    )
    return Answer(
        text=(proof_markdown if given.markdown else proof_text)(proof, change),
        document={
            **spell_out(proof),
            "commit": commit,
            "marked": list(change.marked),
            "moved": list(change.moved),
        },
        exit_code=_exit_code(proof, required=given.require),
    )


def _prove_suite(call: Call) -> Answer:
    given, project = call.arguments, call.project()
    root = project.root
    if given.base is not None or given.require or given.exclude or given.keep_sandbox:
        raise NotAllowedError("--suite goes with --seconds, --markdown and --json only", remedy="leave the others out")
    paths = [relative_id(call.start / path, root) for path in given.suite or ["."]]
    # At the root, pytest's own settings say where the tests are.
    proof = prove_suite(
        root,
        () if paths == ["."] else paths,
        seconds=math.inf if given.seconds is None else given.seconds,
        show=say_progress,
    )
    told = CiOutput()
    if project.configuration.run.ci != "off" and not given.markdown:
        told = tell_places("a check that can't fail", suite_places(proof), suite_markdown(proof), call.environment)
    text = (suite_markdown if given.markdown else suite_text)(proof)
    code = exit_codes.GATE_CLOSED if proof.has_findings else exit_codes.OPEN
    return Answer(
        text="\n".join([text, *told.complaints]),
        document=suite_document(proof),
        exit_code=exit_codes.NOT_TRUSTED if proof.problem else code,
        orders=told.lines,
    )


def _exit_code(proof: Proof, *, required: bool) -> int:
    if proof.problem:
        return exit_codes.NOT_TRUSTED
    is_closed = any(is_objection(each, required=required) for each in proof.targets)
    return exit_codes.GATE_CLOSED if is_closed else exit_codes.OPEN


def _prove_task(call: Call) -> Answer:
    given = call.arguments
    if given.require or given.exclude:
        raise NotAllowedError(
            "--require and --exclude go with --base", remedy="set `proof: required` in phase-gate.yaml for a task"
        )
    task = call.task()
    task.require_begun()
    proof = prove_now(task, at=now(), show=say_progress, seconds=given.seconds, keep_in=_keep_in(call))
    mode = task.project.configuration.proof.mode
    return Answer(
        text=(proof_markdown if given.markdown else proof_text)(proof),
        document=spell_out(proof),
        exit_code=_exit_code(proof, required=mode == "required"),
    )


def _keep_in(call: Call) -> Path | None:
    given = call.arguments.keep_sandbox
    if given is None:
        return None
    folder = call.start / str(given)
    if folder.exists():
        raise NotAllowedError(f"{given} is there already", remedy="name a folder that is not there yet")
    return folder
