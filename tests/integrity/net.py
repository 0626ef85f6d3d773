"""The net under the guards: which of them refuse each scenario, and what is left with fewer of them.

`python -m tests.integrity.net` plays the integrity, proof and honesty tables and writes `net.txt`, a line a scenario:

- `all`: every guard, clause and error that refuses it; `opens` if nothing does. A proof is made, as for every user;
- `proof`: what still refuses it with only `complete-run` and `targets-proven` of the guards;
- `proof, no streak`: the same without the clause about green runs in a row, where that one alone still refuses it: a
  run with an odd outcome does not extend the streak, and so the proof is not asked;
- `without GUARD`: where one guard alone refuses it, what comes of it without that one.

A change of the product that loses a refusal shows in the difference of that file. `net-before.txt` is the same table
as it was at commit c19a020a, before the product was cut down; this tells what was lost and gained since, by scenario:

    python -m tests.integrity.net --compare tests/integrity/net-before.txt

Where one of the tables was played with `--short`, only what both of them know is compared.
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
from pathlib import Path
from typing import NoReturn

from phase_gate.config.files import load_shipped_guards
from tests.integrity.scenarios import LIMIT, OPENS, STREAK, Stage, play_scenario, scenarios
from tests.warm import WITH_PROOF, WITHOUT_EXTRAS

FILE = Path(__file__).with_suffix(".txt")
#: The guards that stay in the second play.
KEPT = frozenset({"complete-run", "targets-proven"})
#: What would change an inner run.
_FOREIGN = ("CI", "COVERAGE_", "COV_", "GITHUB_", "GITLAB_", "PHASE_GATE_", "PYTEST_", "PYTHON", "TOX_", "VIRTUAL_ENV")

#: What refuses a scenario, by what was in force; nothing does where it opens.
Entry = Mapping[str, frozenset[str]]


def try_scenario(name: str, stage: Stage, entry: Entry, *, is_short: bool = False) -> Entry:
    """Play what is left to play of a scenario: with all guards, with few, and without the only one that refuses it."""
    while left := next_play(entry, is_short=is_short):
        mode, without = left
        entry = {**entry, mode: play_scenario(name, stage, without=without)}
    return entry


def next_play(entry: Entry, *, is_short: bool = False) -> tuple[str, frozenset[str]] | None:
    """Return what is played next, with the guards that are out then.

    :param is_short: only with all guards.
    """
    shipped = frozenset(load_shipped_guards())
    few = shipped - KEPT
    if "all" not in entry:
        return "all", OPENS
    if is_short or entry["all"] == OPENS:
        return None
    if "proof" not in entry:
        return "proof", few
    if entry["proof"] == {STREAK} and "proof, no streak" not in entry:
        return "proof, no streak", few | {STREAK}
    alone = f"without {min(entry['all'])}"
    if len(entry["all"]) == 1 and entry["all"] <= shipped and alone not in entry:
        return alone, entry["all"]
    return None


# --- the table


def render(entries: Mapping[str, Entry]) -> str:
    return "".join(f"{render_line(name, entries[name])}\n" for name in sorted(entries))


def render_line(name: str, entry: Entry) -> str:
    return " | ".join([name, *(f"{mode}: {'; '.join(sorted(found)) or 'opens'}" for mode, found in entry.items())])


def parse(text: str) -> dict[str, Entry]:
    return dict(map(_parse_line, text.splitlines()))


def _parse_line(line: str) -> tuple[str, Entry]:
    name, *parts = line.split(" | ")
    pairs = (part.split(": ", 1) for part in parts)
    return name, {mode: frozenset(found.split("; ")) if found != "opens" else OPENS for mode, found in pairs}


def compare(before: Mapping[str, Entry], now: Mapping[str, Entry]) -> Iterator[str]:
    """Yield a line for each scenario that is judged by other guards or clauses than before, where both tables know."""
    for name in sorted({*before, *now}):
        if name not in now or name not in before:
            yield f"{name}: {'gone' if name in before else 'new'}"
            continue
        for mode in sorted(before[name].keys() & now[name].keys()):
            was, has = before[name][mode], now[name][mode]
            if was != has:
                told = [f"lost {each}" for each in sorted(was - has)] + [f"gained {each}" for each in sorted(has - was)]
                yield f"{name}: {mode}: {', '.join(told)}{'' if has else ': OPENS'}"


# --- the command


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.integrity.net")
    parser.add_argument(
        "--only", default="", metavar="PATTERN", help="scenarios in whose line of the table it is found"
    )
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th of them")
    parser.add_argument("--jobs", type=int, default=2, help="scenarios that are played at a time")
    parser.add_argument("--short", action="store_true", help="only with all guards, which takes a third of the time")
    parser.add_argument("--resume", action="store_true", help="leave out what the table has already")
    parser.add_argument("--table", type=Path, default=FILE, metavar="FILE", help="default: %(default)s")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="play nothing; tell how the table differs from it")
    options = parser.parse_args(words)
    entries = parse(options.table.read_text(encoding="utf-8")) if options.table.exists() else {}
    if options.compare:
        differences = [*compare(parse(options.compare.read_text(encoding="utf-8")), entries)]
        print(*differences, sep="\n")
        return 1 if differences else 0
    known = scenarios()
    lines = {name: render_line(name, entries.get(name, {})) for name in sorted(known)}
    chosen = [name for name, line in lines.items() if re.search(options.only, line)][:: options.every]
    entries = {name: entry for name, entry in entries.items() if name in known}
    begun = {name: entries.get(name, {}) if options.resume else {} for name in chosen}
    with (
        tempfile.TemporaryDirectory(prefix="net-") as folder,
        ProcessPoolExecutor(options.jobs, initializer=_begin, initargs=(Path(folder),)) as pool,
    ):
        waiting = [
            pool.submit(_try_named, name, entry, options.short)
            for name, entry in begun.items()
            if next_play(entry, is_short=options.short)
        ]
        for number, done in enumerate(as_completed(waiting), 1):
            name, entry = done.result()
            entries[name] = entry
            options.table.write_text(render(entries), encoding="utf-8")  # at once: the whole of it takes long
            print(f"[{number}/{len(waiting)}] {render_line(name, entry)}", flush=True)
    return 0


_stages: list[Stage] = []


def _begin(folder: Path) -> None:
    """Be a process that plays scenarios, with nothing of this machine's own settings."""
    for name in [name for name in os.environ if name.startswith(_FOREIGN)]:
        del os.environ[name]
    os.environ |= {
        "HOME": str(folder),
        "GIT_CEILING_DIRECTORIES": str(folder),
        "XDG_STATE_HOME": str(folder / f"user-state-{os.getpid()}"),
        "USER": "dev",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": WITHOUT_EXTRAS,
        WITH_PROOF: "yes",
    }
    signal.signal(signal.SIGALRM, _give_up)
    _stages.append(Stage(folder / f"stage-{os.getpid()}"))


def _give_up(number: int, frame: object) -> NoReturn:
    raise ValueError(f"a scenario took longer than {LIMIT} seconds")


def _try_named(name: str, entry: Entry, is_short: bool) -> tuple[str, Entry]:
    signal.alarm(LIMIT)
    entry = try_scenario(name, _stages[0], entry, is_short=is_short)
    signal.alarm(0)
    return name, entry


if __name__ == "__main__":
    sys.exit(main())
