"""`phase-gate demo`: a sample project in a temporary folder, driven through RED and GREEN by real pytest runs."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from phase_gate.cli._call import Call, Done, call_in, print_answer, require_plugin
from phase_gate.cli._streams import say
from phase_gate.values import Value

_TEST = """\
from basket import Basket


def test_an_empty_basket_costs_nothing():
    assert Basket().total() == 0


def test_prices_are_added_up():
    assert Basket(2, 3).total() == 5


def test_ten_items_are_cheaper():
    assert Basket(*[1] * 10).total() == 9
"""

_FIRST_TRY = """\
class Basket:
    def __init__(self, *prices):
        self.prices = prices

    def total(self):
        return sum(self.prices)
"""

_GOOD = """\
class Basket:
    def __init__(self, *prices):
        self.prices = prices

    def total(self):
        return sum(self.prices) - (len(self.prices) >= 10)
"""


class Step(Value):
    """A text to print, a file to write, a run, and its expected result."""

    says: str
    command: tuple[str, ...] = ()
    writes: tuple[tuple[str, str], ...] = ()
    ends_with: int = 0


STEPS: tuple[Step, ...] = (
    Step(
        says="RED. Three tests for a shopping basket. There is no basket yet, so they have to fail.",
        writes=(("test_basket.py", _TEST),),
        command=("pytest", "--phase=red"),
    ),
    Step(
        says="Gate 1 is open: the tests exist and fail. Open Gate 2 yourself: yes, these are the tests.",
        command=("phase-gate", "signal", "--reason", "three criteria, three failing tests"),
    ),
    Step(
        says="GREEN. A first try, with the signal at once. The gate refuses: one test still fails.",
        writes=(("basket.py", _FIRST_TRY),),
        command=("pytest", "--phase=green", "--exit-signal=done, I think"),
        ends_with=1,
    ),
    Step(
        says="A second try, now with the discount. It passes, but one green run is never enough.",
        writes=(("basket.py", _GOOD),),
        command=("pytest", "--phase=green", "-v"),
        ends_with=10,
    ),
    Step(
        says="--phase-confirm runs the suite again by itself until the streak is long enough.",
        command=("pytest", "--phase=green", "--phase-confirm", "--exit-signal=all three pass, twice"),
    ),
    Step(says="The history, from the ledger:", command=("phase-gate", "history")),
)


def demo(call: Call) -> Done:
    require_plugin()
    with tempfile.TemporaryDirectory(prefix="phase-gate-demo-") as name:
        folder = Path(name, "basket")
        folder.mkdir()
        return _play(call, folder)


def _play(call: Call, folder: Path) -> Done:
    # Its own configuration, so that the demo does not pick up a project around its folder.
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    unexpected = 0
    for number, step in enumerate(STEPS, start=1):
        for name, text in step.writes:
            (folder / name).write_text(text, encoding="utf-8")
        if not call.arguments.json:
            say(f"\n{number}. {step.says}", color="1;36")
            say(f"$ {shlex.join(step.command)}", color="1", flush=True)
        unexpected += _run(call, folder, *step.command) != step.ends_with
    document = {"steps": len(STEPS), "unexpected": unexpected}
    if unexpected:
        text = f"\n{unexpected} of {len(STEPS)} steps did not end as expected: is another plugin in the way?"
        return Done(text=text, document=document, code=1, is_error=True)
    last = "\nThat is the whole idea; REFACTOR and DOCUMENT work alike. In your own project: pytest --phase=red"
    return Done(text=last, document=document)


def _run(call: Call, folder: Path, program: str, *words: str) -> int:
    kept = {name: value for name, value in call.environment.items() if not name.startswith(("PHASE_GATE_", "PYTEST_"))}
    # Only what the demo needs: no cache folder, short tracebacks, and no other installed plugins.
    environment = {
        **kept,
        # Not in the project: where git lists its files, they would count as changes.
        "XDG_STATE_HOME": str(folder.with_name("user-state")),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    if program == "phase-gate":
        answer = call_in(folder, [*words], environment=environment, interactive=False)
        print_answer(answer, as_json=False, is_quiet=call.arguments.json)
        return answer.code
    options = ("-p", "phase_gate.plugin", "-p", "no:cacheprovider", "--tb=line", "--no-header")
    output = subprocess.DEVNULL if call.arguments.json else None
    command = [sys.executable, "-m", "pytest", *options, *words]
    return subprocess.run(command, cwd=folder, env=environment, stdout=output, stderr=output, check=False).returncode
