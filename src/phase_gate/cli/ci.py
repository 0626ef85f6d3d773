"""`phase-gate prove`, `ci combine`: commands for CI jobs, in addition to their run of pytest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._call import Call, Done, require_plugin
from phase_gate.cli._streams import print_progress
from phase_gate.codec import spell_out
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.verdict import ask_gate_1_only, evaluation_to_json
from phase_gate.proof.base import find_change, prove_change
from phase_gate.proof.proof_text import RenderedProof, render_proof, render_suite
from phase_gate.proof.task_proof import prove_now
from phase_gate.proof.unfailing import SECONDS, prove_suite
from phase_gate.proof.verdicts import Proof
from phase_gate.report.ci_files import CiOutput, annotate_places, write_for_ci
from phase_gate.shards.records import FOLDER, read_shards
from phase_gate.storage.root import relative_id
from phase_gate.storage.store import now

# --- run the targets without the change, with it, and with emptied functions


#: The default time limit in seconds for the tests of a change, long enough that a busy machine does not matter.
_LEAST_SECONDS = 300.0


def prove(call: Call) -> Done:
    require_plugin()
    if call.arguments.suite is not None:
        return _prove_suite(call)
    return _prove_task(call) if call.arguments.base is None else _prove_change(call)


def _prove_change(call: Call) -> Done:
    given, project = call.arguments, call.project()
    change = find_change(project.root, given.base, project.take_tree().files, left_out=given.exclude)
    seconds = given.seconds or max(_LEAST_SECONDS, project.configuration.proof.seconds)
    proof = prove_change(change, seconds=seconds, show=print_progress)
    document = {
        **spell_out(proof),
        "commit": change.commit,
        "marked": list(change.marked),
        "moved": list(change.moved),
        "old": sorted(change.old),
        "only_tests": change.has_only_tests,
    }
    told = render_proof(proof, change, strict=given.strict)
    return _answer(call, f"prove --base {given.base}", told, document, _exit_code(proof, required=given.strict))


def _prove_suite(call: Call) -> Done:
    given, root = call.arguments, call.project().root
    if given.base is not None or given.strict or given.exclude:
        raise NotAllowedError("--suite goes with --seconds and --json only", remedy="leave the others out")
    paths = [relative_id(call.start / path, root) for path in given.suite or ["."]]
    # At the root, pytest's own settings select the tests.
    chosen = () if paths == ["."] else paths
    proof = prove_suite(root, chosen, seconds=given.seconds or SECONDS, show=print_progress)
    code = _exit_code(proof, required=False)
    return _answer(call, "a check that can't fail", render_suite(proof), spell_out(proof), code)


def _prove_task(call: Call) -> Done:
    given = call.arguments
    if given.strict or given.exclude:
        raise NotAllowedError(
            "--strict and --exclude go with --base", remedy="set `proof: required` in the settings for a task"
        )
    task = call.task()
    task.require_begun()
    proof = prove_now(task, at=now(), show=print_progress, seconds=given.seconds)
    told = render_proof(proof)
    return Done(
        text=told.text,
        document=spell_out(proof),
        code=_exit_code(proof, required=task.project.configuration.proof.mode == "required"),
    )


def _exit_code(proof: Proof, *, required: bool) -> int:
    if proof.problem:
        return exit_codes.NOT_TRUSTED
    return exit_codes.GATE_CLOSED if proof.closes(required=required) else exit_codes.OPEN


def _answer(call: Call, title: str, rendered: RenderedProof, document: Mapping[str, Any], code: int) -> Done:
    """Return the result, with a summary and annotations for the CI system.

    :param title: of annotations.
    """
    shown = CiOutput()
    if call.project().configuration.run.ci != "off":
        shown = annotate_places(title, rendered.places, rendered.markdown, call.environment)
    text = "\n".join([rendered.text, *shown.complaints])
    return Done(text=text, document=document, code=code, orders=shown.lines)


# --- combine the records of shards into one run


def combine(call: Call) -> Done:
    arguments = call.arguments
    project = call.project()
    store = call.store(project)
    folder = project.root / FOLDER if arguments.folder is None else call.start / arguments.folder
    if arguments.exit_signal is not None and not arguments.exit_signal.strip():
        raise UsageError("--exit-signal needs a reason", remedy='give the reason: --exit-signal="..."')
    shards = read_shards(folder, key=project.key)
    require_plugin()
    # Imports pytest, so only if there is something to combine.
    from phase_gate.report.panel import panel_text, render_panel
    from phase_gate.report.report_files import write_reports
    from phase_gate.report.story_builder import read_story
    from phase_gate.runs.hello import choose_reports
    from phase_gate.shards.combining import combine_run

    defaults = project.configuration.run
    reports = choose_reports(arguments.report or (), call.start, project)
    written = tuple(relative_id(path, project.root) for path in reports)
    finished = combine_run(
        project,
        store,
        shards,
        exit_signal=arguments.exit_signal,
        reports=(*written, f"{relative_id(folder, project.root)}/"),
    )
    evaluation = finished.evaluation
    assert evaluation is not None, "shards of a void run are refused, and none runs inside another run"
    write_reports(reports, evaluation, lambda: read_story(project, store))
    meaning = arguments.exit or defaults.exit
    output = CiOutput()
    if defaults.ci != "off":
        output = write_for_ci(evaluation, call.environment, meaning=meaning, reports=reports)
    is_dual = meaning == "dual"
    is_open = evaluation.can_exit if is_dual else evaluation.gate_1.is_open
    code = exit_codes.OPEN if is_open else exit_codes.GATE_CLOSED
    if evaluation.breaker.is_open:
        code = exit_codes.CIRCUIT_OPEN
    document = {**evaluation_to_json(evaluation), "shards": len({shard.id for shard in shards})}
    shown = evaluation if is_dual else ask_gate_1_only(evaluation)
    panel = panel_text(render_panel(shown, verbosity=int(call.arguments.v), complaints=output.complaints))
    return Done(text=panel, orders=output.lines, document=document, code=code)
