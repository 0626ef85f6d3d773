"""`python -m bench honesty`: play every case under every gate; print the table, and write the page."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path

from bench.honesty import results as recorded
from bench.honesty.environments import make_environment, versions
from bench.honesty.gates import Gate, load_gates
from bench.honesty.page import list_passed, put_into_page, render
from bench.honesty.play import DONE, NOT_DONE, Answer, play
from bench.honesty.results import RECORDED, Results
from tests.scenarios import Scenario, find_problems, load_scenarios

#: For the interpreter that runs this: it may have plugins that no gate is about.
_NO_PLUGINS = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
_PLUGINS_OF_CASES = ("xdist.plugin", "pytest_rerunfailures")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench honesty", description=__doc__)
    parser.add_argument("--only", default="*", metavar="GLOB", help="cases whose names match")
    parser.add_argument("--gates", default="", metavar="NAMES", help="with commas between them (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the answers there; those of other cases stay")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="stories that are played at a time")
    parser.add_argument("--here", action="store_true", help="no environments: this interpreter, with what it has")
    parser.add_argument("--say", action="store_true", help="show what was said where a gate was wrong")
    parser.add_argument("--page", action="store_true", help="only write the page, from recorded answers")
    options = parser.parse_args(words)
    if options.page:
        put_into_page(recorded.read(options.json or RECORDED))
        return 0
    cases = [case for case in load_cases() if fnmatch(case.name, options.only)]
    if not cases:
        parser.error(f"no case is called {options.only}")
    gates = _choose(parser, options.gates)
    with tempfile.TemporaryDirectory(prefix="honesty-environments-") as folder:
        pythons = {
            gate.name: sys.executable if options.here else make_environment(gate, Path(folder)) for gate in gates
        }
        results = _begin(gates, pythons, options.json)
        wrong = play_all(cases, gates, pythons, results, options, show=print)
    problems = [*wrong, *(find_problems(load_scenarios().values(), rows=range(1, 53)) if options.only == "*" else ())]
    results.keep(case.name for case in load_cases())
    if options.json:
        recorded.write(results, options.json)
    if options.only == "*" and not options.gates and not options.here:
        recorded.write(results, RECORDED)
        put_into_page(results)
    print(render(results), list_passed(results), sep="\n\n")
    for problem in problems:
        print(f"wrong: {problem}", file=sys.stderr)
    return 1 if problems else 0


def load_cases() -> list[Scenario]:
    """Return the scenarios with a story, which any gate can be asked about, in order of their kinds."""
    found = [each for each in load_scenarios().values() if each.story]
    return sorted(found, key=lambda case: (case.row or 99, case.name))


def expected(case: Scenario) -> str:
    return NOT_DONE if case.is_cheat else DONE


def _choose(parser: argparse.ArgumentParser, names: str) -> list[Gate]:
    known = {gate.name: gate for gate in load_gates()}
    wanted = names.split(",") if names else list(known)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        parser.error(f"no such gate: {unknown[0]} (of: {', '.join(known)})")
    return [known[name] for name in wanted]


def _begin(gates: Sequence[Gate], pythons: Mapping[str, str], path: Path | None) -> Results:
    found = Results(
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        python=platform.python_version(),
        gates={gate.name: gate.title for gate in gates},
        versions={gate.name: versions(pythons[gate.name]) for gate in gates},
    )
    if path is None or not path.exists():
        return found
    before = recorded.read(path)
    found.gates = {gate.name: gate.title for gate in load_gates() if gate.name in {**before.gates, **found.gates}}
    found.versions = {**before.versions, **found.versions}
    found.cases = before.cases
    return found


def play_all(
    cases: Sequence[Scenario],
    gates: Sequence[Gate],
    pythons: Mapping[str, str],
    results: Results,
    options: argparse.Namespace,
    *,
    show: Callable[[str], None],
) -> list[str]:
    """Play each case under each gate, side by side; return the labels that the tests contradict."""
    wrong = []
    is_here = len(set(pythons.values())) == 1 and pythons[gates[0].name] == sys.executable
    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = {
            pool.submit(
                play,
                case,
                gate,
                pythons[gate.name],
                environment=environment_here(gate) if is_here else {},
                with_truth=gate is gates[0],
            ): (case, gate)
            for case in cases
            for gate in gates
        }
        for number, done in enumerate(as_completed(waiting), 1):
            case, gate = waiting[done]
            answer = done.result()
            results.add(case, answer)
            if is_contradicted(case, answer):
                wrong.append(_contradicted(case))
            is_mistaken = answer.answer != expected(case)
            if options.say or is_mistaken:
                show(f"[{number}/{len(waiting)}] {gate.name}: {case.name}: {answer.answer}, expected {expected(case)}")
            if options.say and is_mistaken:
                show("\n".join(answer.said))
    return sorted(wrong)


def environment_here(gate: Gate) -> dict[str, str]:
    """Return what makes this interpreter load the plugins of a gate and no others."""
    return {_NO_PLUGINS: "1", "PYTEST_PLUGINS": ",".join((*_PLUGINS_OF_CASES, *gate.plugins))}


def is_contradicted(case: Scenario, answer: Answer) -> bool:
    """Say whether the tests of RED tell another story than the label."""
    return answer.is_right is not None and answer.is_right is case.is_cheat


def _contradicted(case: Scenario) -> str:
    label, how = ("a cheat", "pass") if case.is_cheat else ("honest", "do not pass")
    return f"{case.name}: it is {label}, but the tests of RED {how} with the code as it is in the end"
