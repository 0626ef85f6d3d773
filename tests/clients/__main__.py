"""Play every scenario with every real client, against a scripted model on loopback, and show what came of it.

`tox -e agents` calls this. It takes the clients from npm, in the versions of `package.json`; after that it has no
network but loopback, where the system allows it, and no credentials. Needs Linux and Node 20 or newer.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from phase_gate.agents.agent import load_agent
from phase_gate.agents.endings import classify
from phase_gate.values import Value, replace
from tests.clients.alone import go_alone
from tests.clients.driven import DRIVEN
from tests.clients.install import install, version_of
from tests.clients.refusals import script_for
from tests.clients.scenarios import SCENARIOS, Expected, Scenario
from tests.clients.stage import Played, Stage
from tests.clients.table import CLIENTS, Client

MODULE = "tests.clients"
#: Where the clients are put: beside what tox makes.
FOLDER = Path(__file__).parent.parent.parent / ".tox" / "clients"
ALL = (*SCENARIOS, *DRIVEN)
PROMPT = "Children pay half. Work in phases, as the instructions of this project say."


class Row(Value):
    client: str
    scenario: str
    #: What is not as expected; empty if all is.
    problem: str
    seconds: float

    @property
    def shown(self) -> str:
        return f"no: {self.problem}" if self.problem else "yes"


def play(client: Client, scenario: Scenario, programs: Path, *, keep: Path | None, patience: float = 1.0) -> Row:
    command = client.command if scenario.is_trusted else (*client.command, *client.when_untrusted)
    if scenario.drive:
        command = ("phase-gate", "drive", *scenario.drive)
    with _folder(client, scenario, keep) as folder:
        rules = f"drive: {{agent: {client.name}, retry_wait: 1s}}\n" if scenario.drive else ""
        stage = Stage(client, Path(folder).resolve(), programs, rules=rules)
        if scenario.in_green:
            stage.begin_green()
        played = stage.play(
            script_for(client.name, scenario),
            command,
            prompt="" if scenario.drive else PROMPT,
            limit=scenario.limit * (1.0 if None in scenario.expected.codes else patience),
            is_trusted=scenario.is_trusted,
            kill_at=scenario.kill_at,
            kills_client=scenario.kills_client,
            then=("phase-gate", "drive", "--resume") if scenario.resumes else (),
        )
        problem = "; ".join(find_problems(stage, scenario, played))
        if problem:
            show_more(scenario, played)
        return Row(client=client.name, scenario=scenario.name, problem=problem, seconds=played.seconds)


@contextlib.contextmanager
def _folder(client: Client, scenario: Scenario, keep: Path | None) -> Iterator[str]:
    if keep is None:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            yield folder
        return
    place = keep / f"{client.name}-{scenario.name}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    yield str(place)


def find_problems(stage: Stage, scenario: Scenario, played: Played) -> list[str]:
    expected, found = _expect(stage.client, scenario), []
    if (expected.codes and played.code not in expected.codes) or (played.code is None and None not in expected.codes):
        found.append(f"it ended with {played.code}")
    check = stage.check()
    if check != expected.check:
        found.append(f"check says {check}")
    found += [f"not told: {text}" for text in expected.told if text not in played.told]
    found += [f"told: {text}" for text in expected.not_told if text in played.told]
    if not played.asked and played.code == 0:
        found.append("the model was not asked")
    if len(played.asked) > expected.most:
        found.append(f"the model was asked {len(played.asked)} times")
    for path, text in expected.kept.items():
        if (stage.root / path).read_text(encoding="utf-8") != text:
            found.append(f"{path} was changed")
    printed = played.out + played.err
    found += [f"not said: {text}" for text in expected.said if text not in printed]
    if expected.ending:
        ending = classify(load_agent(stage.client.name).signs, played.code, printed)
        found += [f"taken for {ending.kind}"] if ending.kind != expected.ending else []
    if scenario.asks_doctor:
        says = stage.diagnose()
        mark = stage.client.doctor
        found += [] if says.startswith(f"{mark}: ") else [f"the doctor says {says}"]
    if scenario.drive and played.left:
        found.append(f"left running: {', '.join(played.left)}")
    if played.strange:
        found.append(f"asked for {', '.join(sorted(set(played.strange)))}")
    return found


def _expect(client: Client, scenario: Scenario) -> Expected:
    """Return what has to come of it; a client that wants trust before it starts does nothing without it."""
    expected = scenario.expected
    if scenario.is_trusted or expected.refused is None or not client.when_untrusted:
        return expected
    code, said = expected.refused
    return replace(expected, codes=(code,), said=(said,), told=())


def show_more(scenario: Scenario, played: Played) -> None:
    print(f"--- {scenario.name} ended with {played.code}\n{played.out[-1500:]}\n--- errors\n{played.err[-1500:]}")
    for each in played.asked[-4:]:
        assert each.talk is not None
        print("  asked:", each.talk.turns, [text[-300:] for text in each.talk.told], "->", str(each.answer)[:120])


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--client", action="append", choices=[each.name for each in CLIENTS], help="only this one")
    parser.add_argument("--scenario", action="append", choices=[each.name for each in ALL], help="only this one")
    parser.add_argument("--package", action="append", default=[], metavar="NAME@VERSION", help="another version")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the clients are put (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="leave what was played there, to look at")
    parser.add_argument(
        "--patience", type=float, default=1.0, metavar="N", help="so many times the usual limits, on a busy machine"
    )
    options = parser.parse_args(words)
    programs = install(options.folder.resolve(), options.package)
    if (ended := go_alone(MODULE, words)) is not None:
        return ended
    clients = [each for each in CLIENTS if not options.client or each.name in options.client]
    scenarios = [each for each in ALL if not options.scenario or each.name in options.scenario]
    rows = []
    for client in clients:
        print(f"{client.name} {version_of(programs, client.package)}", flush=True)
        for scenario in scenarios:
            row = play(client, scenario, programs, keep=options.keep, patience=options.patience)
            print(f"  {scenario.name:14} {row.seconds:5.0f} s  {row.shown}", flush=True)
            rows.append(row)
    show_table(rows, [(each.name, version_of(programs, each.package)) for each in clients])
    return 1 if any(row.problem for row in rows) else 0


def show_table(rows: list[Row], versions: list[tuple[str, str]]) -> None:
    cells = {(row.client, row.scenario): "no" if row.problem else "yes" for row in rows}
    heads = [f"{name} {version}" for name, version in versions]
    print("\n| scenario | " + " | ".join(heads) + " |\n| --- |" + " --- |" * len(heads))
    for scenario in dict.fromkeys(row.scenario for row in rows):
        print(f"| {scenario} | " + " | ".join(cells[name, scenario] for name, _ in versions) + " |")


if __name__ == "__main__":
    os.umask(0o077)
    raise SystemExit(main(sys.argv[1:]))
