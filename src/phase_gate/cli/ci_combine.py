"""`phase-gate ci combine`: make one run of the records that shards wrote."""

from __future__ import annotations

from phase_gate import exit_codes
from phase_gate.cli._answer import Call, Done, require_pytest
from phase_gate.errors import UsageError
from phase_gate.gate.verdict import evaluation_to_json
from phase_gate.shards.records import FOLDER, read_shards
from phase_gate.storage.root import relative_id


def run(call: Call) -> Done:
    arguments = call.arguments
    project = call.project()
    store = call.store(project)
    folder = project.root / FOLDER if arguments.folder is None else call.start / arguments.folder
    if arguments.exit_signal is not None and not arguments.exit_signal.strip():
        raise UsageError("--exit-signal needs a reason", remedy='say why it is done: --exit-signal="..."')
    shards = read_shards(folder, key=project.key)
    require_pytest()
    # Loads pytest: only where there is something to combine.
    from phase_gate.report.ci import CiOutput, write_for_ci
    from phase_gate.report.files import write_reports
    from phase_gate.report.panel import panel_text, render_panel
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
    panel = panel_text(render_panel(evaluation, verbosity=int(call.arguments.v), complaints=output.complaints))
    return Done(text=panel, orders=output.lines, document=document, code=code)
