"""Where we are: root, configuration, state folder and task, the same for plugin and command."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from phase_gate.codec import from_json
from phase_gate.errors import PhaseGateError, StateError, UsageError, WorkflowError
from phase_gate.storage.fingerprint import Tree, take_contents, take_tree
from phase_gate.storage.listing import list_files
from phase_gate.storage.opening import Place, guard_file
from phase_gate.storage.root import (
    DEFAULT_TASK,
    Climb,
    find_root,
    has_own_table,
    own_folders,
    refuse_links,
    task_folder,
    task_names,
)
from phase_gate.storage.store import TaskStore
from phase_gate.values import Value, replace
from phase_gate.workflow.model import Workflow
from phase_gate.workflow.names import run_command, step_command
from phase_gate.workflow.settings import DEFAULT_WORKFLOW, FILE_NAME, Configuration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.gate.state import State
    from phase_gate.stores.shared import SharedStore
    from phase_gate.workflow.model import Guard

#: Our folder in a project's root.
STATE_FOLDER = ".phase-gate"

#: Shipped workflows, compiled to JSON by `scripts.generate`. Every run loads one, without any parser.
COMPILED_FOLDER = Path(__file__).parent / "workflows" / "compiled"

#: Names the shared store.
STORE_VARIABLE = "PHASE_GATE_STORE"


class Project(Value):
    root: Path
    configuration: Configuration
    state_folder: Path
    #: The last folder on the way to the state that is not ours: the root, or the state folder that a person named.
    anchor: Path
    task: str
    environment: Mapping[str, str]

    @classmethod
    def find(
        cls,
        start: Path,
        *,
        environment: Mapping[str, str],
        task: str | None = None,
        folder: str | None = None,
    ) -> Project:
        """Return the project around `start`. Options win over the environment, and that over the file."""
        climb = Climb.begin(start, environment)
        root = find_root(climb)
        climb.refuse_foreign(root)  # before any of its files is read
        configuration = _configuration(root)
        # An empty option or variable is a mistake that must not quietly become the default.
        given = folder if folder is not None else environment.get("PHASE_GATE_DIR")
        if given == "":
            raise UsageError("the state folder's name is empty", remedy="name a folder, or leave the option out")
        state_folder = root / (configuration.run.dir or STATE_FOLDER) if given is None else start / given
        named = (task, environment.get("PHASE_GATE_TASK"), configuration.run.task)
        chosen = next((name for name in named if name is not None), DEFAULT_TASK)
        task_folder(state_folder, chosen)  # refuse a bad name before anything else happens
        return cls(
            root=root,
            configuration=configuration,
            state_folder=state_folder,
            anchor=root if given is None else state_folder,
            task=chosen,
            environment=environment,
        )

    @property
    def begin_command(self) -> str:
        """Return what to type where nothing is recorded yet."""
        if self.configuration.workflow == DEFAULT_WORKFLOW:
            return run_command("red", self.task)
        try:
            workflow = self.workflow()
        except PhaseGateError:
            return run_command("auto", self.task)  # a plugin may know it
        needs_no_tests = workflow.pipeline is not None and workflow.first.tests == "none"
        return step_command("auto", self.task, takes_run=not needs_no_tests)

    @property
    def folder(self) -> Path:
        return task_folder(self.state_folder, self.task)

    @property
    def key(self) -> bytes | None:
        """Return what ledgers and shards are signed with; None where no key is set."""
        key = self.environment.get("PHASE_GATE_KEY")
        return key.encode("utf-8", "surrogateescape") if key else None

    def store(self, command: str) -> TaskStore:
        place = Place(
            self.folder,
            self.task,
            key=self.key,
            guard=guard_file(self.folder, self.environment),
            command=command,
            lock_timeout=self.configuration.lock_timeout,
            run_limit=self.configuration.run_limit * 3600,
            own_folders=self.own_folders,
            state_folder=self.state_folder,
        )
        shared = self.shared_store()
        if shared is None:
            return TaskStore(place)
        from phase_gate.stores.task_store import SharedTaskStore

        return SharedTaskStore(shared, place)

    def shared_store(self) -> SharedStore | None:
        """Return the store that tasks are shared in; None where the state folder is all there is."""
        if STORE_VARIABLE not in self.environment:
            return None
        from phase_gate.stores.choosing import open_shared

        return open_shared(self.state_folder, self.environment)

    def read_tasks(self, command: str) -> Look:
        """Return a function that opens any task, after all were taken over from the shared store in one question."""
        shared = self.shared_store()
        refused: Mapping[str, StateError] = {}
        if shared is not None:
            from phase_gate.stores.task_store import catch_up_all

            refused = catch_up_all(shared, self.state_folder, lambda task: replace(self, task=task).store(command))
        return Look(self, command, refused)

    def task_names(self) -> list[str]:
        """Return the tasks that there are, here or in the shared store, the default one first."""
        shared = self.shared_store()
        here = task_names(self.state_folder)
        elsewhere = () if shared is None else shared.list_tasks()
        others = sorted({*here, *elsewhere} - {DEFAULT_TASK})
        return [*(name for name in (DEFAULT_TASK,) if name in here or name in elsewhere), *others]

    @property
    def own_folders(self) -> tuple[str, ...]:
        """Return the folders that may not be links."""
        return own_folders(self.anchor, self.state_folder, self.folder)

    def workflow(
        self,
        name: str | None = None,
        *,
        extra_guards: Mapping[str, Guard] | None = None,
        extra_workflows: Mapping[str, Path] | None = None,
    ) -> Workflow:
        """Return the workflow with what the project's file lays over it."""
        wanted, overlay = name or self.configuration.workflow, self.configuration.overlay
        if not extra_guards and not extra_workflows and overlay is None:
            compiled = load_compiled(wanted)
            if compiled is not None:
                return compiled
        from phase_gate.config import configuration, workflow_files

        taken = [name for name in workflow_files.shipped_workflow_names() if name in (extra_workflows or {})]
        if taken:
            raise WorkflowError(
                f"a plugin offers workflow {taken[0]!r}, and one of that name is shipped", "give it another name"
            )
        offered = (extra_workflows or {}).get(wanted)
        workflow = workflow_files.load_workflow(
            str(offered or wanted),
            root=self.root,
            extra_guards=extra_guards or {},
            extra_metrics={} if overlay is None else overlay.metrics,
        )
        return configuration.apply_overlay(workflow, overlay)

    def take_data(self, folders: Iterable[str], keep: Callable[[str], bool]) -> dict[str, str]:
        """Return the wanted files below these folders, with the ids of their contents; none that git ignores."""
        existing = [folder for folder in folders if (self.root / folder).is_dir()]
        return take_contents(self.root, self.list_files(keep, existing)) if existing else {}

    def list_files(self, keep: Callable[[str], bool], below: Sequence[str] = (".",)) -> list[str]:
        """Return the wanted files of the project, those too that git does not track yet; none that it ignores."""
        return list_files(self.root, below, state_folder=self.state_folder, keep=keep)

    def take_contents(self, paths: Collection[str], tree: Tree) -> dict[str, str]:
        """Return path -> content id of these files, also of those that the tree does not have; none that are gone."""
        found = {path: content for path in paths if (content := tree.beside.get(path) or tree.files.get(path))}
        others = [path for path in paths if path not in found]
        return found | take_contents(self.root, others) if others else found

    def take_tree(
        self,
        always: tuple[str, ...] = (),
        *,
        beside: Iterable[str] = (),
        reports: Iterable[str] = (),
        new_data: bool = True,
    ) -> Tree:
        """Return the fingerprint of the files that count.

        :param beside: files that runs of the task have imported, from its state: they count even if they are hidden.
        :param reports: files that runs of the task write by their options, from its state: they never count.
        :param new_data: whether files count that git does not track and that are no sources.
        """
        refuse_links(self.own_folders)  # a walk keeps what it has seen in one of them
        return take_tree(
            self.root,
            docs=self.configuration.docs,
            always=always,
            beside=beside,
            reports=reports,
            new_data=new_data,
            state_folder=self.state_folder,
            cache_file=self.state_folder / "cache" / "tree.json",
            key=self.key,
        )


class Look:
    """Opens tasks as the state folder has them."""

    def __init__(self, project: Project, command: str, refused: Mapping[str, StateError]) -> None:
        self._project, self._command = project, command
        #: Tasks that can't be trusted in the shared store, whatever the folder contains.
        self.refused = refused

    def __call__(self, task: str) -> State | None:
        """Return the state; None for a task that never began. Raises StateError for one that can't be trusted."""
        if task in self.refused:
            raise self.refused[task]
        # Of the folder alone: the shared store was asked already.
        return replace(self._project, task=task).store(self._command).alone().read_if_begun()


def load_compiled(name: str) -> Workflow | None:
    """Return a shipped workflow without any settings applied; None if there is none of that name."""
    if "/" in name or "\\" in name:
        return None  # a path in the project
    try:
        document = (COMPILED_FOLDER / f"{name}.json").read_bytes()
    except (OSError, ValueError):
        return None
    from phase_gate.workflow.conditions import TREES  # here, not above: `check` evaluates no condition

    compiled = json.loads(document)
    TREES.update(compiled.pop("trees"))
    return from_json(Workflow, compiled)


def _configuration(root: Path) -> Configuration:
    names = (FILE_NAME, FILE_NAME.replace(".yaml", ".yml"))
    if not any(os.path.lexists(root / name) for name in names) and not has_own_table(root):
        return Configuration()  # nothing to read: the parser is not even imported
    from phase_gate.config.configuration import load_configuration

    return load_configuration(root)


def who_am_i(environment: Mapping[str, str]) -> str:
    """Return the user's name, for `by` where none is given."""
    named = environment.get("USER") or environment.get("USERNAME")
    if named:
        return named
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return "unknown"
