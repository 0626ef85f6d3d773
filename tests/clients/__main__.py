"""Play every scenario with every real client, against a scripted model on loopback, and show what came of it.

`tox -e agents` calls this. It takes the clients from npm, in the versions of `package.json`; after that it has no
network but loopback, where the system allows it, and no credentials. Needs Linux and Node 20 or newer.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from phase_gate.agents.endings import classify
from tests.clients.install import go_alone, install, version_of
from tests.clients.scenarios import SCENARIOS, Scenario
from tests.clients.stage import ClientProject, Played
from tests.clients.table import CLIENTS, Client

MODULE = "tests.clients"
#: Where the clients are put: beside what tox makes.
FOLDER = Path(__file__).parent.parent.parent / ".tox" / "clients"
PROMPT = "Children pay half. Work in phases, as the instructions of this project say."


def play(client: Client, scenario: Scenario, programs: Path, folder: Path, patience: float = 1.0) -> tuple[str, float]:
    """Return what is not as expected, empty if all is; and the seconds that it took."""
    command = ("phase-gate", "drive", *scenario.drive) if scenario.drive else client.command
    settings = f"agent: {client.name}, signal: agent, time_limit: {scenario.time_limit}"
    rules = f"drive: {{{settings}}}\n" if scenario.drive else ""
    project = ClientProject(client, folder.resolve(), programs, rules=rules)
    if scenario.in_green:
        project.begin_green()
    played = project.play(
        scenario.script,
        command,
        prompt="" if scenario.drive else PROMPT,
        limit=scenario.limit * (1.0 if None in scenario.codes else patience),
        kill_at=scenario.kill_at,
        kills_client=scenario.kills_client,
        then=("phase-gate", "drive", "--resume") if scenario.resumes else (),
    )
    problem = "; ".join(find_problems(project, scenario, played))
    if problem:
        print(f"--- {scenario.name} ended with {played.code}\n{played.out[-1500:]}\n--- errors\n{played.err[-1500:]}")
        for each in played.asked[-4:]:
            assert each.talk is not None
            print("  asked:", each.talk.turns, [text[-300:] for text in each.talk.told], "->", str(each.answer)[:120])
    return problem, played.seconds


def find_problems(project: ClientProject, scenario: Scenario, played: Played) -> list[str]:
    client, found = project.client, []
    if (scenario.codes and played.code not in scenario.codes) or (played.code is None and None not in scenario.codes):
        found.append(f"it ended with {played.code}")
    check = project.check()
    if check != scenario.check:
        found.append(f"check says {check}")
    found += [f"not told: {text}" for text in scenario.told if text not in played.told]
    found += [f"told: {text}" for text in scenario.not_told if text in played.told]
    if not played.asked and played.code == 0:
        found.append("the model was not asked")
    if len(played.asked) > scenario.most:
        found.append(f"the model was asked {len(played.asked)} times")
    for path, text in scenario.kept.items():
        if (project.root / path).read_text(encoding="utf-8") != text:
            found.append(f"{path} was changed")
    printed = played.out + played.err
    found += [f"not said: {text}" for text in scenario.said if text not in printed]
    ending = classify(played.code, printed, is_known=True).kind
    if scenario.ending and ending != scenario.ending:
        found.append(f"taken for {ending}")
    if scenario.name == "honest" and not (says := project.diagnose()).startswith(f"{client.doctor}: "):
        found.append(f"the doctor says {says}")
    if scenario.drive and played.left:
        found.append(f"left running: {', '.join(played.left)}")
    if played.strange:
        found.append(f"asked for {', '.join(sorted(set(played.strange)))}")
    return found


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--client", action="append", choices=[each.name for each in CLIENTS], help="only this one")
    parser.add_argument("--scenario", action="append", choices=list(SCENARIOS), help="only this one")
    parser.add_argument("--keep", type=Path, help="leave what was played there, to look at")
    parser.add_argument(
        "--patience", type=float, default=1.0, metavar="N", help="so many times the usual limits, on a busy machine"
    )
    options = parser.parse_args(words)
    programs = install(FOLDER.resolve())
    if (ended := go_alone(MODULE, words)) is not None:
        return ended
    problems = 0
    for client in (each for each in CLIENTS if not options.client or each.name in options.client):
        print(f"{client.name} {version_of(programs, client.package)}", flush=True)
        for name in options.scenario or SCENARIOS:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
                problem, seconds = play(client, SCENARIOS[name], programs, Path(place), options.patience)
                if options.keep is not None:
                    kept = options.keep / f"{client.name}-{name}"
                    shutil.copytree(place, kept, symlinks=True, dirs_exist_ok=True)
            print(f"  {name:18} {seconds:5.0f} s  {f'no: {problem}' if problem else 'yes'}", flush=True)
            problems += bool(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    os.umask(0o077)
    raise SystemExit(main(sys.argv[1:]))
