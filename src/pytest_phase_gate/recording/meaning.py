"""What gives the tests their meaning, read from the session: code around them, files they use, pytest's settings."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from pytest_phase_gate.core.criteria import Criteria
from pytest_phase_gate.core.decisive_rules import name_rules
from pytest_phase_gate.core.freeze import Frozen, Meaning
from pytest_phase_gate.core.inventory import Inventory, bare_name
from pytest_phase_gate.core.module_code import ModuleStatement, module_code
from pytest_phase_gate.core.settings import ConfidenceRules, ExitGate, QualitySettings
from pytest_phase_gate.core.source_tests import parse_source
from pytest_phase_gate.core.values import Value
from pytest_phase_gate.core.workflow import Workflow
from pytest_phase_gate.project import Project
from pytest_phase_gate.recording.inventory import text_id
from pytest_phase_gate.storage.owners import is_in_environment
from pytest_phase_gate.storage.root import relative_id
from pytest_phase_gate.storage.tree import Tree, compile_globs

#: Folders that hold tests and what they use, where `testpaths` does not say.
_TEST_FOLDERS = frozenset({"test", "tests"})
#: Options that change what a test means, and how each is typed.
_OPTIONS = {
    "override_ini": "-o",
    "noconftest": "--noconftest",
    "runxfail": "--runxfail",
    "importmode": "--import-mode",
    "pythonwarnings": "-W",
}


def take_meaning(
    project: Project,
    criteria: Criteria,
    inventory: Inventory,
    contents: Mapping[str, str],
    *,
    settings: Mapping[str, str],
    testpaths: Iterable[str],
    frozen: Frozen | None,
    at_start: AtStart | None,
    is_output: Callable[[str], bool],
    outputs: Collection[str] = (),
) -> Meaning:
    """Return the meaning of the tests in this run. Files whose content is the frozen one are not parsed.

    :param contents: content ids by path, from the tree.
    :param settings: as `take_settings` found them.
    :param at_start: what frozen files said when the run began; None if nothing was frozen then.
    :param is_output: whether the run itself has written a file.
    :param outputs: files that earlier runs have written.
    """
    root = project.root
    modules: dict[str, tuple[ModuleStatement, ...]] = {}
    for path, file in inventory.files.items():
        before = None if frozen is None else frozen.inventory.files.get(path)
        if before is not None and before.content != file.content and path.endswith(".py"):
            modules[path] = _statements(root / path, {bare_name(name) for name in file.ids})
    before_them = {} if frozen is None else frozen.support
    support: dict[str, tuple[str, tuple[ModuleStatement, ...] | None]] = {}
    written: set[str] = set()
    for path, content in support_files(project, inventory.files, contents, testpaths, was_support=before_them):
        known = before_them.get(path)
        if known is None and not path.endswith(".py") and (path in outputs or is_output(path)):
            written.add(path)
            continue
        if known is not None and at_start is not None:
            if path not in at_start.support:
                continue  # the tests began without it, whatever they wrote in its place
            # What the run writes over it, or puts back, does not undo what it began with.
            content = content if at_start.support[path] == known.content else at_start.support[path]
        is_same = known is not None and known.content == content
        support[path] = (content, None if is_same or not path.endswith(".py") else _statements(root / path, ()))
    settings = dict(settings)
    # Criteria that come later than the freeze ask for more, and take nothing away.
    if criteria.listed and (frozen is None or "criteria" in frozen.settings):
        settings["criteria"] = ", ".join(sorted(criteria.ids))
    texts = {} if at_start is None else at_start.texts
    return Meaning(
        modules=modules,
        support=support,
        written=frozenset(written),
        rewritten=tuple(
            path for path, file in inventory.files.items() if path in texts and texts[path] != file.content
        ),
        settings=settings,
    )


class AtStart(Value):
    """What frozen files said when a run began: ids of their contents; those that were gone are left out."""

    support: Mapping[str, str]
    #: Files that are tests themselves, as texts with examples are.
    texts: Mapping[str, str]


def look_at_frozen(project: Project, frozen: Frozen, tree: Tree) -> AtStart:
    """Return what the frozen files say now. Call it before any test can change them."""
    texts = [path for path in frozen.inventory.files if not path.endswith(".py")]
    return AtStart(
        support=project.take_contents(frozen.support, tree),
        texts={path: text_id(project.root / path) for path in texts if (project.root / path).is_file()},
    )


def _statements(file: Path, tests: Iterable[str]) -> tuple[ModuleStatement, ...]:
    try:
        return module_code(parse_source(file.read_bytes()), tests=frozenset(tests))
    except (OSError, SyntaxError):
        return ()


def support_files(
    project: Project,
    tests: Collection[str],
    contents: Mapping[str, str],
    testpaths: Iterable[str],
    *,
    was_support: Collection[str] = (),
) -> Iterator[tuple[str, str]]:
    """Yield the files that tests use, with the ids of their contents.

    :param tests: the files that tests stand in.
    """
    folders = _test_folders(testpaths, (*tests, *contents))
    by_name = compile_globs(project.configuration.freeze)

    def is_support(path: str) -> bool:
        # One that has tests of its own by now is still what the others use.
        return (path not in tests or path in was_support) and (
            path.rpartition("/")[2] == "conftest.py"
            or by_name(path)
            or any(path.startswith(f"{folder}/") for folder in folders)
        )

    yield from ((path, content) for path, content in contents.items() if is_support(path))
    yield from project.take_data(folders, lambda path: path not in contents and is_support(path)).items()


def take_testpaths(config: pytest.Config, root: Path) -> tuple[str, ...]:
    return tuple(relative_id(root / folder, root) for folder in config.getini("testpaths"))


def _test_folders(testpaths: Iterable[str], paths: Iterable[str]) -> frozenset[str]:
    """Return the folders of tests: `testpaths`, else folders named test or tests. The root itself never is one."""
    found = {folder for folder in testpaths if folder not in ("", ".") and not folder.startswith("..")}
    if found:
        return frozenset(found)
    for path in paths:
        parts = path.split("/")[:-1]
        for index, part in enumerate(parts):
            if part in _TEST_FOLDERS:
                found.add("/".join(parts[: index + 1]))
                break
    return frozenset(found)


def written_since(root: Path, began: float) -> Callable[[str], bool]:
    """Return what tells whether a file was written since then: by the run itself, or what it measured with."""

    def is_output(path: str) -> bool:
        try:
            # Not what somebody dated into the future.
            return began <= (root / path).stat().st_mtime <= time.time()
        except OSError:
            return False

    return is_output


def take_settings(config: pytest.Config, project: Project, workflow: Workflow) -> dict[str, str]:
    """Return what may not change once the tests are frozen: pytest's settings and our own rules."""
    settings = {f"ini {name}": str(_value(value)) for name, value in _ini_values(config).items()}
    for name, flag in _OPTIONS.items():
        value = getattr(config.option, name, None)
        if value and not (name == "importmode" and value == "prepend"):
            settings[f"option {flag}"] = str(value)
    inifile = config.inipath
    settings["option -c"] = "" if inifile is None else relative_id(inifile, project.root)
    settings["plugins"] = " ".join(sorted(_local_plugins(config, project.root)))
    own = project.configuration
    settings |= {f"workflow {name}": text for name, text in name_rules(workflow).items()}
    settings["phase-gate.yaml parameters.required_green_runs"] = "auto" if own.overlay.green_runs_auto else ""
    settings["phase-gate.yaml docs"] = ", ".join(own.docs)
    settings |= {f"phase-gate.yaml evidence.commands.{each.name}": each.rule for each in own.commands}
    if own.quality != QualitySettings():
        settings["phase-gate.yaml evidence.quality"] = own.quality.rule
    settings |= {f"phase-gate.yaml evidence.documents.{name}": text for name, text in own.documents.rules.items()}
    settings["phase-gate.yaml freeze"] = ", ".join(own.freeze)
    settings["phase-gate.yaml overrides.allow_non_interactive"] = str(own.allow_non_interactive).lower()
    for section, rules, usual in (
        ("exit_gate", own.exit_gate, ExitGate()),
        ("confidence", own.confidence, ConfidenceRules()),
    ):
        if rules != usual:
            settings[f"phase-gate.yaml {section}"] = repr(rules)
    return settings


def _ini_values(config: pytest.Config) -> Mapping[str, object]:
    # `inicfg` is deprecated since 9.1 and has no successor that tells what a file sets.
    found = getattr(config, "_inicfg", None)
    return found if found is not None else config.inicfg


def _value(value: object) -> object:
    return getattr(value, "value", value)


def _local_plugins(config: pytest.Config, root: Path) -> Iterator[str]:
    """Yield plugins that come from the project itself; one from an installed distribution may come and go."""
    top = os.path.realpath(root)
    for name, plugin in config.pluginmanager.list_name_plugin():
        file = getattr(plugin, "__file__", None)
        if not isinstance(file, str) or os.path.basename(file) == "conftest.py":
            continue
        path = os.path.realpath(file)
        if path.startswith(top + os.sep) and not is_in_environment(path, top):
            yield name
