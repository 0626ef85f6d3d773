"""Find out what plugins can give to a workflow: metrics and guards.

Only texts are read: nothing is imported, so nothing of the project runs. What a plugin gives is known when it is asked,
in a run; whether there is one at all, and whether it has ever heard of a name, is known before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.storage.tree.names import list_files

if TYPE_CHECKING:
    from phase_gate.project import Project
    from phase_gate.workflow.model import Workflow


class Plugins:
    """The sources of a project, and of the pytest plugins that are installed beside us."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def find_unprovided(self, workflow: Workflow) -> frozenset[str]:
        """Return the names that the workflow says are measured, and that neither a command nor a plugin measures."""
        left = frozenset(workflow.metrics) - {command.metric for command in self._project.configuration.commands}
        return left if left and not self._with_metrics else frozenset()

    def offers_guard(self, name: str) -> bool:
        """Tell whether the name stands in a source that offers guards."""
        return any(name.encode() in text for text in self._with_guards)

    @cached_property
    def _with_metrics(self) -> list[bytes]:
        return self._find(b"pytest_phase_gate_metrics")

    @cached_property
    def _with_guards(self) -> list[bytes]:
        return self._find(b"pytest_phase_gate_guards")

    def _find(self, hook: bytes) -> list[bytes]:
        texts = map(_read, (*self._own_sources(), *_installed_sources()))
        return [text for text in texts if hook in text]

    def _own_sources(self) -> Iterator[Path]:
        root = self._project.root
        names = list_files(root, state_folder=self._project.state_folder, keep=lambda name: name.endswith(".py"))
        return (root / name for name in names)


def _installed_sources() -> Iterator[Path]:
    """Yield the sources of installed pytest plugins: of the whole package, for its parts import each other."""
    from importlib.metadata import entry_points

    packages = {point.module.partition(".")[0] for point in entry_points(group="pytest11")}
    for package in sorted(packages - {"phase_gate"}):
        found = PathFinder.find_spec(package)
        if found is None:
            continue
        if found.submodule_search_locations is None:
            yield Path(found.origin or "")
        for folder in found.submodule_search_locations or ():
            yield from sorted(Path(folder).rglob("*.py"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
