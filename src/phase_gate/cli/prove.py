"""`phase-gate prove`: run the targets without the change, with it, and with functions emptied."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._answer import Call, Done
from phase_gate.cli._plugin import require_plugin
from phase_gate.cli._streams import say_progress
from phase_gate.codec import spell_out
from phase_gate.errors import NotAllowedError
from phase_gate.project import Project
from phase_gate.proof.base import prove_change
from phase_gate.proof.change import find_change
from phase_gate.proof.experiment import closes
from phase_gate.proof.model import Proof
from phase_gate.proof.show import proof_markdown, proof_places, proof_text
from phase_gate.proof.suite import prove_suite, suite_document, suite_markdown, suite_places, suite_text
from phase_gate.proof.task import prove_now
from phase_gate.report.ci import CiOutput, Place, tell_places
from phase_gate.storage.root import relative_id
from phase_gate.storage.store import now

#: Seconds for the tests of a change, unless a user says otherwise: a busy machine must not decide about them.
_LEAST_SECONDS = 300.0


def run(call: Call) -> Done:
    require_plugin()
    if call.arguments.suite is not None:
        return _prove_suite(call)
    return _prove_task(call) if call.arguments.base is None else _prove_change(call)


def _prove_change(call: Call) -> Done:
    given, project = call.arguments, call.project()
    change = find_change(project.root, given.base, project.take_tree().files, left_out=given.exclude)
    proof = prove_change(
        change,
        seconds=given.seconds or max(_LEAST_SECONDS, project.configuration.proof.seconds),
        show=say_progress,
        keep_in=_keep_in(call),
    )
    markdown = proof_markdown(proof, change, strict=given.strict)
    places = proof_places(proof, change, strict=given.strict)
    return _answer(
        call,
        project,
        text=proof_text(proof, change, strict=given.strict),
        markdown=markdown,
        told=(f"prove --base {given.base}", places),
        document={
            **spell_out(proof),
            "commit": change.commit,
            "marked": list(change.marked),
            "moved": list(change.moved),
            "old": sorted(change.old),
            "only_tests": change.has_only_tests,
        },
        code=_exit_code(proof, required=given.strict),
    )


def _prove_suite(call: Call) -> Done:
    given, project = call.arguments, call.project()
    root = project.root
    if given.base is not None or given.strict or given.exclude or given.keep_sandbox:
        raise NotAllowedError("--suite goes with --seconds, --markdown and --json only", remedy="leave the others out")
    paths = [relative_id(call.start / path, root) for path in given.suite or ["."]]
    # At the root, pytest's own settings say where the tests are.
    proof = prove_suite(
        root,
        () if paths == ["."] else paths,
        seconds=math.inf if given.seconds is None else given.seconds,
        show=say_progress,
    )
    code = exit_codes.GATE_CLOSED if proof.has_findings else exit_codes.OPEN
    return _answer(
        call,
        project,
        text=suite_text(proof),
        markdown=suite_markdown(proof),
        told=("a check that can't fail", suite_places(proof)),
        document=suite_document(proof),
        code=exit_codes.NOT_TRUSTED if proof.problem else code,
    )


def _answer(
    call: Call,
    project: Project,
    *,
    text: str,
    markdown: str,
    told: tuple[str, Iterable[Place]],
    document: Mapping[str, Any],
    code: int,
) -> Done:
    """Return the answer; a CI system is told, too, unless the Markdown is asked for, which is for its summary.

    :param told: the title of annotations, and their places.
    """
    if call.arguments.markdown:
        return Done(text=markdown, document=document, code=code)
    shown = CiOutput()
    if project.configuration.run.ci != "off":
        shown = tell_places(*told, markdown, call.environment)
    return Done(text="\n".join([text, *shown.complaints]), document=document, code=code, orders=shown.lines)


def _exit_code(proof: Proof, *, required: bool) -> int:
    if proof.problem:
        return exit_codes.NOT_TRUSTED
    return exit_codes.GATE_CLOSED if closes(proof, required=required) else exit_codes.OPEN


def _prove_task(call: Call) -> Done:
    given = call.arguments
    if given.strict or given.exclude:
        raise NotAllowedError(
            "--strict and --exclude go with --base", remedy="set `proof: required` in phase-gate.yaml for a task"
        )
    task = call.task()
    task.require_begun()
    proof = prove_now(task, at=now(), show=say_progress, seconds=given.seconds, keep_in=_keep_in(call))
    mode = task.project.configuration.proof.mode
    return Done(
        text=(proof_markdown if given.markdown else proof_text)(proof),
        document=spell_out(proof),
        code=_exit_code(proof, required=mode == "required"),
    )


def _keep_in(call: Call) -> Path | None:
    given = call.arguments.keep_sandbox
    if given is None:
        return None
    folder = call.start / str(given)
    if folder.exists():
        raise NotAllowedError(f"{given} is there already", remedy="name a folder that is not there yet")
    return folder
