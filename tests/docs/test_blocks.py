"""Every fenced block of README and documentation is run, or read by the parser that it is meant for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.config.criteria_files import read_criteria
from phase_gate.evidence.documents.diagrams import Diagram, check_mermaid
from phase_gate.project import Project
from phase_gate.storage.signal_file import parse_signal
from phase_gate.tasks.handins import read_executor_result, read_verdict
from phase_gate.tasks.task_files import lint_task, parse_tasks
from phase_gate.workflow.settings import Configuration
from tests.docs.blocks import (
    ROOT,
    Block,
    Session,
    blocks_of,
    pages,
    run_page,
    shows_proofs,
    unsaid_statuses,
    wanted_plugins,
    wants_extras,
)
from tests.warm import WarmServer

#: What a newcomer types, word for word; `.ci/run` reads the second one from the README and runs it.
SET_UP = (
    "python3 -m venv .venv && .venv/bin/pip install --quiet . ./plugin && .venv/bin/phase-gate demo",
    'python3 -m venv .venv && .venv/bin/pip install --quiet -e ".[test]" -e ./plugin && .venv/bin/pytest -n 2',
)

#: What a newcomer types to install it.
INSTALL = (
    "pip install pytest-phase-gate",
    "uv add --dev pytest-phase-gate",
    "pytest --phase=red",
    "pytest --phase=green",
)

#: What a newcomer reads first: every run of the suite tries these pages, and some of the others.
FRONT = ("README.md", "docs/tutorial.md", "docs/how-to/everyday.md")

#: Kinds that are run page by page; the others are checked one by one.
RUN = ("console", "file")

needs_a_shell = pytest.mark.skipif(
    shutil.which("sh") is None or shutil.which("git") is None, reason="the pages are typed into a shell, with git"
)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def runs_commands(page: Path) -> bool:
    return any(block.kind == "console" for block in blocks_of(page))


def check_configuration(text: str, folder: Path) -> None:
    (folder / "phase-gate.yaml").write_text(text, encoding="utf-8")
    Project.find(folder, environment={}).workflow()


def check_pyproject(text: str, folder: Path) -> None:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    project = Project.find(folder, environment={})
    assert project.configuration != Configuration()
    project.workflow()


def check_workflow(text: str, folder: Path) -> None:
    (folder / "shown.yaml").write_text(text, encoding="utf-8")
    Project.find(folder, environment={}).workflow("shown.yaml")


def check_signal(text: str, folder: Path) -> None:
    parse_signal(text)


def check_criteria(text: str, folder: Path) -> None:
    (folder / "shown.yaml").write_text(text, encoding="utf-8")
    read_criteria("shown.yaml", base=folder, root=folder)


def check_diagram(text: str, folder: Path) -> None:
    (checked,) = check_mermaid([Diagram(file="shown.md", line=1, language="Mermaid", text=text)])
    assert (checked.flaw, checked.unknown) == ("", "")


def check_task(text: str, folder: Path) -> None:
    for task in parse_tasks(text, "shown"):
        assert lint_task(task) == ()


def check_result(text: str, folder: Path) -> None:
    read_executor_result(text, "shown")


def check_verdict(text: str, folder: Path) -> None:
    read_verdict(text, "shown")


CHECKS = {
    "xml task": check_task,
    "mermaid": check_diagram,
    "toml configuration": check_pyproject,
    "yaml configuration": check_configuration,
    "yaml criteria": check_criteria,
    "yaml executor-result": check_result,
    "yaml signal": check_signal,
    "yaml task": check_task,
    "yaml verdict": check_verdict,
    "yaml workflow": check_workflow,
}


@needs_a_shell
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name(page), marks=() if name(page) in FRONT else pytest.mark.sampled(6))
        for page in pages()
        if runs_commands(page)
    ],
)
def test_a_page_shows_what_happens(page: Path, tmp_path: Path, children: Callable[[], WarmServer]) -> None:
    session = Session(
        tmp_path,
        extras=wants_extras(page),
        plugins=wanted_plugins(page),
        proofs=shows_proofs(page),
        children=children,
    )
    ran = list(run_page(page, session))
    for each in ran:
        assert each.matches, (
            f"{name(page)}:{each.command.line}: $ {each.command.typed}\n"
            f"the page shows:\n{_quoted(each.command.expected)}\n"
            f"it said, and ended with {each.code}:\n{_quoted(each.output)}\n"
            f"if that is right: python -m tests.docs.blocks {name(page)}"
        )
    assert unsaid_statuses(page, ran) == []


@pytest.mark.parametrize(
    "block",
    [pytest.param(block, id=block.place) for page in pages() for block in blocks_of(page) if block.kind not in RUN],
)
def test_a_block_is_what_it_says(block: Block, tmp_path: Path) -> None:
    if block.kind == "sh set-up":
        assert block.lines[0] in SET_UP
        assert len(block.lines) == 1
    elif block.kind == "sh install":
        assert {line.partition("  #")[0].rstrip() for line in block.lines} <= set(INSTALL)
    else:
        assert block.kind in CHECKS, f"{block.place}: nobody knows how to check a block {block.info!r}"
        CHECKS[block.kind](block.text, tmp_path)


def test_the_readme_begins_with_what_to_install() -> None:
    blocks = blocks_of(ROOT / "README.md")
    assert blocks[0].kind == "sh install"
    assert tuple(block.lines[0] for block in blocks if block.kind == "sh set-up") == SET_UP


def _quoted(lines: tuple[str, ...]) -> str:
    return "\n".join(f"    {line}" for line in lines)
