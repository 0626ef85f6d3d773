"""The net under the guards: which of them refuse each scenario, and what is left with fewer of them.

The corpus (`tests/scenarios`) says who refuses a scenario with every guard in force and proofs, as every user has it.
`python -m tests.integrity.net` plays it, tells where it is judged otherwise, and keeps a line a cheat in `net.txt`:

- `proof`: what still refuses it with only `complete-run` and `targets-proven` of the guards, and by which experiment;
- `proof, no streak`: the same without the clause about green runs in a row, where that one alone still refuses it: a
  run with an odd outcome does not extend the streak, and so the proof is not asked;
- `without GUARD`: where one guard alone refuses it, what comes of it without that one.

A change of the product that loses a refusal shows in the difference of that file, or against the corpus.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import NoReturn

from phase_gate.config.workflow_files import load_shipped_guards
from tests.integrity.player import LIMIT, NOT_TRIED, OPENS, STREAK, Played, ScenarioPlayer
from tests.scenarios import Scenario, load_scenarios, with_workers
from tests.warm import WITH_PROOF

FILE = Path(__file__).with_suffix(".txt")
#: The guards that stay in the second play.
KEPT = frozenset({"complete-run", "targets-proven"})
#: What would change an inner run.
_FOREIGN = ("CI", "COVERAGE_", "COV_", "GITHUB_", "GITLAB_", "PHASE_GATE_", "PYTEST_", "PYTHON", "TOX_", "VIRTUAL_ENV")

#: What refuses a scenario, by what was in force; nothing does where it opens.
Entry = Mapping[str, frozenset[str]]


@cache
def all_scenarios() -> dict[str, Scenario]:
    """Return the corpus, and once more what is played with workers as well."""
    found = load_scenarios()
    doubled = (with_workers(each) for each in found.values() if each.refused_with_workers is not None)
    return {**found, **{each.name: each for each in doubled}}


def try_scenario(scenario: Scenario, player: ScenarioPlayer, *, is_short: bool = False) -> tuple[Entry, Played]:
    """Play a scenario with all guards, and what is left to play with fewer; return its line and the first play."""
    entry: Entry = {}
    played = player.play(scenario)
    while not is_short and (left := next_play(played.refused_by, entry)):
        mode, lacking = left
        found = player.play(scenario, lacking)
        entry = {**entry, mode: NOT_TRIED if player.is_cold else found.refused_by | found.experiments}
    return entry, played


def next_play(refused_by: frozenset[str], entry: Entry) -> tuple[str, frozenset[str]] | None:
    """Return what is played next, with the guards that are out then."""
    if refused_by == OPENS:
        return None
    shipped = frozenset(load_shipped_guards())
    few = shipped - KEPT
    if "proof" not in entry:
        return "proof", few
    if entry["proof"] == {STREAK} and "proof, no streak" not in entry:
        return "proof, no streak", few | {STREAK}
    alone = f"without {min(refused_by)}"
    if len(refused_by) == 1 and refused_by <= shipped and alone not in entry:
        return alone, refused_by
    return None


# --- the table


def render(entries: Mapping[str, Entry]) -> str:
    return "".join(f"{render_line(name, entries[name])}\n" for name in sorted(entries) if entries[name])


def render_line(name: str, entry: Entry) -> str:
    return " | ".join([name, *(f"{mode}: {'; '.join(sorted(found)) or 'opens'}" for mode, found in entry.items())])


def parse(text: str) -> dict[str, Entry]:
    return dict(map(_parse_line, text.splitlines()))


def _parse_line(line: str) -> tuple[str, Entry]:
    name, *parts = line.split(" | ")
    pairs = (part.split(": ", 1) for part in parts)
    return name, {mode: frozenset(found.split("; ")) if found != "opens" else OPENS for mode, found in pairs}


def read() -> dict[str, Entry]:
    return parse(FILE.read_text(encoding="utf-8"))


def compare(name: str, was: frozenset[str], has: frozenset[str]) -> Iterator[str]:
    """Yield a line about a scenario that is judged by other guards or clauses than before."""
    if was != has:
        message = [f"lost {each}" for each in sorted(was - has)] + [f"gained {each}" for each in sorted(has - was)]
        yield f"{name}: {', '.join(message)}{'' if has else ': OPENS'}"


# --- the command


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.integrity.net")
    parser.add_argument("--only", default="", metavar="PATTERN", help="scenarios in whose name or line it is found")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th of them")
    parser.add_argument("--jobs", type=int, default=2, help="scenarios that are played at a time")
    parser.add_argument("--short", action="store_true", help="only with all guards, which takes a third of the time")
    options = parser.parse_args(words)
    entries, known = read(), all_scenarios()
    lines = {name: f"{render_line(name, entries.get(name, {}))} {known[name].refused_by}" for name in known}
    chosen = [name for name, line in lines.items() if re.search(options.only, line)][:: options.every]
    entries = {name: entry for name, entry in entries.items() if name in known}
    differences = []
    with (
        tempfile.TemporaryDirectory(prefix="net-") as folder,
        ProcessPoolExecutor(options.jobs, initializer=_begin, initargs=(Path(folder),)) as pool,
    ):
        waiting = [pool.submit(_try_named, name, options.short) for name in chosen]
        for number, done in enumerate(as_completed(waiting), 1):
            name, entry, found = done.result()
            if not options.short and (entry or found == OPENS):  # otherwise there was no answer
                entries[name] = entry
                FILE.write_text(render(entries), encoding="utf-8")  # at once: the whole of it takes long
            message = [*compare(name, known[name].refused_by, found)]
            differences += message
            line = render_line(name, {**entry, "all": found})
            print(f"[{number}/{len(waiting)}] {line}", *message, sep="\n", flush=True)
    print(f"{len(differences)} judged otherwise than the corpus has it", *sorted(differences), sep="\n")
    return 1 if differences else 0


_players: list[ScenarioPlayer] = []


def _begin(folder: Path) -> None:
    """Be a process that plays scenarios, with nothing of this machine's own settings."""
    for name in [name for name in os.environ if name.startswith(_FOREIGN)]:
        del os.environ[name]
    os.environ |= {"HOME": str(folder), "GIT_CEILING_DIRECTORIES": str(folder), "USER": "dev", WITH_PROOF: "yes"}
    signal.signal(signal.SIGALRM, _give_up)
    _players.append(ScenarioPlayer(folder / f"player-{os.getpid()}"))


def _give_up(number: int, frame: object) -> NoReturn:
    raise ValueError(f"a scenario took longer than {LIMIT} seconds")


def _try_named(name: str, is_short: bool) -> tuple[str, Entry, frozenset[str]]:
    entry: Entry = {}
    signal.alarm(LIMIT)
    try:
        entry, played = try_scenario(all_scenarios()[name], _players[0], is_short=is_short)
        found = played.refused_by
    except (AssertionError, ValueError) as error:  # the story could not be told to its end
        found = frozenset({f"no answer {type(error).__name__}"})
    signal.alarm(0)
    return name, entry, found


if __name__ == "__main__":
    sys.exit(main())
