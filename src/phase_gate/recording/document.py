"""Build the document of a finished session: all facts that can't be determined later."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from phase_gate.codec import from_json
from phase_gate.gate.inventory import PROFILE, join_id
from phase_gate.gate.measured import OPTION, Finding, Seen, merge_seen
from phase_gate.gate.outcomes import FAILING, Failure
from phase_gate.gate.record import SLOW, Document
from phase_gate.recording.ownership import announced_packages, is_installed, package_of, real_path
from phase_gate.recording.request import is_extended
from phase_gate.recording.witness import Witness
from phase_gate.storage.root import is_in_environment, relative_id
from phase_gate.workflow.names import PASSES_ALREADY

if TYPE_CHECKING:
    from phase_gate.workflow.metrics import MetricValue
    from phase_gate.workflow.model import Phase, Workflow


#: Categories of pytest's reports that are not outcomes.
_UNCOUNTED = ("", "warnings")


def make_document(
    config: pytest.Config,
    witness: Witness,
    *,
    rules: tuple[Workflow, Phase] | None,
    exit_status: int,
    duration: float,
) -> Document:
    """Return the document of the session.

    :param rules: the rules that plugins measure for; None for a session without a verdict.
    """
    root, wants_reasons = Path(witness.wanted.root), witness.wanted.reasons
    seen = merge_seen((witness.seen(), *witness.workers))
    for problem in seen.parts.get("problem", ()):
        raise RuntimeError(f"parts of tests in the sources could not be looked at: {problem}")
    ids = TestIds(config, root, seen.paths, seen.groups)
    uncollectable = ids.uncollectable(witness.errors)
    guards, skipped = _read_marks(uncollectable, root)
    outcomes = ids.rename(witness.buckets.close(witness.nodes), all_are_known=not witness.workers)
    outcomes |= dict.fromkeys(uncollectable, "uncollectable")
    outcomes |= dict.fromkeys(skipped, "skipped")
    deselected = frozenset(map(ids.test_id, seen.deselected))
    measured, complaints = _take_metrics(config, rules, root)
    plugins = tuple(project_plugins(config, root))
    guarding = {ids.test_id(node): why for node, why in seen.guarding.items()} | guards if wants_reasons else {}
    return Document(
        outcomes=outcomes,
        exit_status=exit_status,
        tally=_take_tally(config),
        duration_s=duration,
        durations=_take_durations(config, ids.test_id),
        deselected=deselected,
        sees_whole_files=sees_whole_files(config),
        narrowed_files=narrowed_files(config, root),
        # Tests of other shards are deselected here, which does not narrow the whole suite.
        narrowed_by=describe_narrowing(config, 0 if witness.wanted.slices else len(deselected)),
        collection_errors=tuple(witness.errors),
        skipped_modules=witness.skipped_modules,
        failures=dict(_take_failures(ids, witness, uncollectable)) if wants_reasons else {},
        messages=_take_messages(ids, witness, uncollectable),
        interrupted=witness.interrupted,
        internal_error=witness.internal_error,
        is_void=witness.is_usage_error(exit_status),
        marked={ids.test_id(node): named for node, named in seen.marked.items()},
        guarding={test_id: why for test_id, why in guarding.items() if why},
        settings=take_settings(config, root, plugins),
        parts=seen.parts,
        plugins=local_plugins(config, root, plugins),
        testpaths=take_testpaths(config, root),
        modules=seen.modules,
        imported=tuple(sorted(seen.imported)),
        doubts=(*seen.doubts, *witness.silent_workers, *_rewritten_on_the_way(witness, seen)),
        measured=measured,
        complaints=(*complaints, *_unexplained(guarding)),
        collected=tuple(sorted(map(ids.test_id, seen.collected))),
        left_out={who: tuple(map(ids.test_id, nodes)) for who, nodes in seen.left_out.items()},
    )


def _take_metrics(
    config: pytest.Config, rules: tuple[Workflow, Phase] | None, root: Path
) -> tuple[Mapping[str, MetricValue], tuple[str, ...]]:
    """Return the metrics of plugins, and complaints about them; few plugins have any."""
    if rules is None or not is_extended(config):
        return {}, ()
    from phase_gate.recording.extensions import gather_metrics

    return gather_metrics(config, *rules, root)


def _take_failures(
    ids: TestIds, witness: Witness, uncollectable: Mapping[str, object]
) -> Iterator[tuple[str, Failure]]:
    """Yield our id and the failure of each failing test."""
    rows = ((ids.test_id(node), row) for node, row in witness.buckets.failures.items())
    for test_id, row in (*rows, *uncollectable.items()):
        yield test_id, from_json(Failure, row) if isinstance(row, dict) else Failure(reason="unexplained")


def _take_messages(ids: TestIds, witness: Witness, uncollectable: Iterable[str]) -> dict[str, str]:
    """Return the messages of failing tests by our ids; an uncollectable test has the message of its module."""
    found = {ids.test_id(node): text for node, text in witness.buckets.messages.items()}
    by_module = {ids.test_id(node.partition("::")[0]): text for node, text in witness.error_messages.items()}
    return found | {test_id: by_module.get(test_id.partition("::")[0], "") for test_id in uncollectable if by_module}


def _read_marks(test_ids: Mapping[str, object], root: Path) -> list[dict[str, str]]:
    """Return the tests that are marked as already passing, and those that a mark skips, from the sources."""
    if not test_ids:
        return [{}, {}]
    from phase_gate.runs.criteria_coverage import read_by_name
    from phase_gate.source.criterion_marks import guards_in_source, skips_in_source

    return [read_by_name(test_ids, root, read) for read in (guards_in_source, skips_in_source)]


def _unexplained(guarding: Mapping[str, str]) -> Iterator[str]:
    """Yield a complaint about each test that is marked as already passing without a reason."""
    for test_id in sorted(test_id for test_id, why in guarding.items() if not why):
        yield f'{test_id}: the mark does not count without a reason; write @pytest.mark.{PASSES_ALREADY}("why")'


def _rewritten_on_the_way(witness: Witness, seen: Seen) -> Iterator[Finding]:
    """Yield the tests that failed on a worker but were reported differently to the controller."""
    if not seen.failed:
        return
    detail = "failed on a worker, and arrived as something else"
    for node, bucket in witness.buckets.close(sorted(seen.failed)).items():
        if bucket not in FAILING:
            yield Finding(slug="outcome-rewritten", guard="outcomes-genuine", tier="hard", id=node, detail=detail)


def _take_tally(config: pytest.Config) -> dict[str, int]:
    """Return the counts of pytest's own summary by category."""
    kept = _reports(config).items()
    return {"errors" if name == "error" else name: len(rows) for name, rows in kept if rows and name not in _UNCOUNTED}


def _reports(config: pytest.Config) -> Mapping[str, Sequence[Any]]:
    """Return the reports that pytest keeps for its summary, by category."""
    return getattr(config.pluginmanager.get_plugin("terminalreporter"), "stats", {})


def _take_durations(config: pytest.Config, test_id: Callable[[str], str]) -> dict[str, float]:
    """Return the durations of slow tests."""
    found: dict[str, float] = {}
    for reports in _reports(config).values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.duration >= SLOW:
                name = test_id(report.nodeid)
                found[name] = found.get(name, 0.0) + report.duration
    return found


# --- our ids of tests: relative to our root instead of pytest's rootdir

T = TypeVar("T")


class TestIds:
    """Translates pytest's node ids to our ids."""

    __test__ = False

    def __init__(self, config: pytest.Config, root: Path, paths: Mapping[str, str], groups: tuple[str, ...]) -> None:
        self._config, self._root, self._paths = config, root, dict(paths)
        # Without workers the id of the same test has no group suffix.
        self._suffixes = tuple(f"@{group}" for group in groups)

    def test_id(self, node: str) -> str:
        """Return our id of a pytest node: the path relative to the root, then the name."""
        part, _, name = node.partition("::")
        path = self._paths.get(part)
        if path is None:
            path = self._paths[part] = relative_id(self._config.rootpath / part, self._root)
        for suffix in self._suffixes:
            if name.endswith(suffix):
                name = name[: -len(suffix)]
                break
        return join_id(path, name)

    def rename(self, nodes: dict[str, T], *, all_are_known: bool) -> dict[str, T]:
        """Return the same mapping with our ids as keys. Usually they are equal to pytest's.

        :param all_are_known: this process collected the tests, so it knows all their paths.
        """
        if all_are_known and not self._suffixes and all(part == path for part, path in self._paths.items()):
            return nodes
        return {self.test_id(node): value for node, value in nodes.items()}

    def uncollectable(self, errors: Mapping[str, object]) -> dict[str, object]:
        """Return the tests of modules that could not be collected, with their failures. They are read from the source.

        A module that can't be parsed counts as one test, named by its path.
        """
        found: dict[str, object] = {}
        if errors:
            from phase_gate.runs.parsing import names_in_source  # here, not above: most modules can be imported
        for node, failure in errors.items():
            part, _, inner = node.partition("::")
            path, file = self.test_id(part), self._config.rootpath / part
            functions, classes = map(self._config.getini, ("python_functions", "python_classes"))
            names = names_in_source(file, functions, classes) or []
            # A class can fail to be collected while the rest of its module runs.
            names = [name for name in names if not inner or name.startswith(f"{inner}::")]
            for name in names or [inner]:
                found[join_id(path, name)] = _failure_of(failure, file, name)
        return found


def _failure_of(failure: object, file: Path, name: str) -> object:
    """Return a module's failure as the failure of one of its tests; a stub does not wait for missing code."""
    if not isinstance(failure, dict) or failure["reason"] != "structural" or not name:
        return failure
    from phase_gate.recording.reasons import is_stub

    return {**failure, "reason": "stub"} if is_stub(file, name) else failure


# --- pytest's settings, as far as they change the meaning of a test; and the filters of a run

#: A plugin from the project itself: its name, the plugin, and its file.
_Plugin = tuple[str, object, str]

#: Options that change the meaning of a test, and how each is typed.
_OPTIONS = {
    "override_ini": "-o",
    "noconftest": "--noconftest",
    "runxfail": "--runxfail",
    "importmode": "--import-mode",
    "pythonwarnings": "-W",
}


def take_testpaths(config: pytest.Config, root: Path) -> tuple[str, ...]:
    return tuple(relative_id(root / folder, root) for folder in config.getini("testpaths"))


def take_settings(config: pytest.Config, root: Path, plugins: Iterable[_Plugin]) -> dict[str, str]:
    """Return pytest's settings that must not change once the tests are frozen."""
    settings = {f"ini {name}": str(_value(value)) for name, value in _ini_values(config).items()}
    for name, flag in _OPTIONS.items():
        value = getattr(config.option, name, None)
        if value and not (name == "importmode" and value == "prepend"):
            settings[f"{OPTION}{flag}"] = str(value)
    inifile = config.inipath
    settings[f"{OPTION}-c"] = "" if inifile is None else relative_id(inifile, root)
    settings["plugins"] = " ".join(sorted(name for name, _, _ in plugins))
    return settings | _profile()


def _profile() -> dict[str, str]:
    """Return the profile of hypothesis, if it is loaded: an option, a variable or code can choose it."""
    name = getattr(getattr(sys.modules.get("hypothesis"), "settings", None), "_current_profile", None)
    return {} if name is None else {PROFILE: str(name)}


def _ini_values(config: pytest.Config) -> Mapping[str, object]:
    # `inicfg` is deprecated since 9.1 and has no successor that shows which settings a file has.
    found = getattr(config, "_inicfg", None)
    return found if found is not None else config.inicfg


def _value(value: object) -> object:
    return getattr(value, "value", value)


def local_plugins(config: pytest.Config, root: Path, plugins: Iterable[_Plugin]) -> tuple[str, ...]:
    """Return the files of the project's local plugins for its own tests, from the root.

    A plugin with an entry point is the project's product, and is installed for development.
    """
    announced = announced_packages(config)
    found = ((package_of(plugin), path) for _, plugin, path in plugins)
    return tuple(sorted({relative_id(Path(path), root) for package, path in found if package not in announced}))


def project_plugins(config: pytest.Config, root: Path) -> Iterator[_Plugin]:
    """Yield the plugins from the project itself; those of installed distributions may change."""
    top = os.path.realpath(root)
    for name, plugin in config.pluginmanager.list_name_plugin():
        file = getattr(plugin, "__file__", None)
        if not isinstance(file, str) or os.path.basename(file) == "conftest.py":
            continue
        path = "" if is_installed(file) else real_path(file)
        if path.startswith(top + os.sep) and not is_in_environment(path, top):
            yield name, plugin, path


# --- options and arguments that choose tests


def describe_narrowing(config: pytest.Config, deselected: int) -> tuple[str, ...]:
    """Return the options and arguments that select tests, as a user would type them."""
    option = config.option
    words: list[str] = []
    for name, flag in (("keyword", "-k"), ("markexpr", "-m")):
        value = getattr(option, name, "")
        if value:
            words.append(f"{flag} {value!r}")
    for name, flag in (("lf", "--lf"), ("stepwise", "--sw"), ("pyargs", "--pyargs")):
        if getattr(option, name, False):
            words.append(flag)
    for name, flag in (("deselect", "--deselect"), ("ignore", "--ignore"), ("ignore_glob", "--ignore-glob")):
        words += [f"{flag} {value}" for value in getattr(option, name, None) or ()]
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        words += [str(argument) for argument in config.args]
    if deselected and not words:
        words.append(f"{deselected} deselected by a hook")
    return tuple(words)


def sees_whole_files(config: pytest.Config) -> bool:
    """Return whether all tests of each collected file were considered. `--lf` drops tests of a file without reports."""
    return not getattr(config.option, "lf", False)


def narrowed_files(config: pytest.Config, root: Path) -> frozenset[str]:
    """Return the files with a selection of single tests."""
    base = config.invocation_params.dir
    return frozenset(
        relative_id(base / argument.partition("::")[0], root) for argument in map(str, config.args) if "::" in argument
    )
