"""What the present phase of a pipeline asks for: rows that say so, and files to fill in."""

from __future__ import annotations

from phase_gate.pipeline.artifacts import find_files
from phase_gate.pipeline.begin import pipeline_of
from phase_gate.pipeline.order import rules_of
from phase_gate.pipeline.show import Rows, needs_of
from phase_gate.pipeline.skeletons import skeletons_of, vote_file
from phase_gate.storage.files import REAL, make_folder, write_atomically
from phase_gate.storage.root import place_below
from phase_gate.storage.tree.fingerprint import compile_globs
from phase_gate.task import Task
from phase_gate.workflow.model import Phase, requires_of


def needs_in(task: Task, phase: Phase) -> Rows:
    """Return the files and facts that a phase of the present cycle requires."""
    commands = {each.name for each in task.project.configuration.commands}
    return needs_of(task.rules, phase, pipeline_of(task.state), task=task.project.task, commands=commands)


def write_skeletons(task: Task, phase: Phase, *, votes: bool = True) -> tuple[list[str], list[str]]:
    """Write a file to fill in for each that the phase asks for; return which were written, and which were there.

    :param votes: one for a vote, too.
    """
    root = task.project.root
    described = rules_of(task.rules).artifacts
    globs = [described[name] for name in requires_of(phase).artifacts]
    written: list[str] = []
    kept: list[str] = []
    consensus = requires_of(phase).consensus
    ballot = None if votes or consensus is None else vote_file(task.rules, consensus)
    for path, text in skeletons_of(task.rules, phase, pipeline_of(task.state)).items():
        if path == ballot:
            continue
        there = next((find_files(root, each) for each in globs if compile_globs([each.path])(path)), ())
        target = place_below(root, path, setting="artifact")
        if there or target.exists():
            kept += there or [path]
            continue
        make_folder(REAL, target.parent)
        write_atomically(REAL, target, text.encode())
        written.append(path)
    return written, kept
