"""`phase-gate report`: the whole story of the task as one HTML file, or as Markdown. Only looks."""

from __future__ import annotations

from phase_gate import exit_codes
from phase_gate.cli._answer import Call, Done
from phase_gate.report.files import STORY_SUFFIXES, check_report, write_story
from phase_gate.report.story_builder import read_story
from phase_gate.visible import count


def run(call: Call) -> Done:
    name = call.arguments.output
    output = None if name is None else check_report(f"--output={name}", call.start / name, STORY_SUFFIXES)
    project = call.project()
    story = read_story(project, call.store(project))
    runs = len(story.runs) + story.runs_left_out
    # It is written all the same: it is needed most to find out what happened.
    code = exit_codes.OPEN if story.ledger.is_intact else exit_codes.NOT_TRUSTED
    document = {
        "task": story.task,
        "root": story.root,
        "runs": runs,
        "events": story.ledger.events,
        "intact": story.ledger.is_intact,
        "problem": story.ledger.problem or None,
        "file": None if output is None else str(output),
        "bytes": None,
    }
    if output is None:
        from phase_gate.report.markdown import render_story

        text = render_story(story).rstrip("\n")
        return Done(text=text, document={**document, "markdown": text}, code=code)
    document["bytes"] = write_story(output, story)
    said = f"{call.arguments.output}: {count(runs, 'run')}, {count(story.ledger.events, 'event')}"
    if not story.ledger.is_intact:
        said += f"\n  not trusted: {story.ledger.problem}\n  try: {story.ledger.remedy}"
    return Done(text=said, document=document, code=code)
