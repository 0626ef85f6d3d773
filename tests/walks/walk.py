"""A walk: some actions in a row, each with a number of its own, and the finisher behind them.

The number of an action seeds whatever it chooses, so that a walk does the same again with some of its actions left out.
"""

from __future__ import annotations

from random import Random

from phase_gate.values import Value, replace
from tests.walks.actions import ACTIONS, actions_of
from tests.walks.craft import Craft
from tests.walks.finisher import Finish, Finisher
from tests.walks.session import Session
from tests.warm import WarmServer

_CHECKS = """\
evidence:
  commands:
    build: {run: python -m compileall -q calc.py}
    lint: {run: python -m tabnanny calc.py}
    test: {run: python -m pytest -q}
    types: {run: python -m py_compile calc.py}
    start: {run: python calc.py}
"""

#: Kinds of walk: what `phase-gate.yaml` says, and the phases at whose exit the finisher may stop, beside DONE.
WORKFLOWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "tdd": ("", ("GREEN", "REFACTOR", "DOCUMENT")),
    "tdd-to-the-end": ("", ()),
    "exit-gate": ("workflow: exit-gate\n", ("WORK",)),
    "confidence": ("workflow: confidence\n", ("WORK",)),
    "pipeline": (f"workflow: pipeline\n{_CHECKS}", ()),
    "verification": ("", ("VERIFICATION",)),
}

Step = tuple[str, int]


class Walk(Value):
    workflow: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return f"{self.workflow} " + " ".join(f"{name}:{number}" for name, number in self.steps)


class Outcome(Value):
    """How a walk ended.

    :param problem: why there was no exit; empty if it was reached.
    """

    walk: Walk
    finish: Finish | None
    problem: str
    session: str


def read_walk(text: str) -> Walk:
    """Return a walk as `str(walk)` shows it."""
    workflow, *steps = text.split()
    pairs = (step.rsplit(":", 1) for step in steps)
    return Walk(workflow=workflow, steps=tuple((name, int(number)) for name, number in pairs))


def make_walk(workflow: str, seed: int, *, longest: int = 14) -> Walk:
    """Return the walk of a seed."""
    random = Random(f"{workflow} {seed}")
    offered = actions_of(workflow)
    chosen = random.choices(offered, [each.weight for each in offered], k=random.randint(2, longest))
    return Walk(workflow=workflow, steps=tuple((each.name, random.randrange(100)) for each in chosen))


def take(walk: Walk, server: WarmServer) -> Outcome:
    """Take the walk, in a new project."""
    configuration, exits = WORKFLOWS[walk.workflow]
    session = Session(server)
    try:
        craft = Craft(session, configuration, walk.workflow)
        craft.begin()
        session.begun = len(session.typed)
        finish, problem = None, ""
        try:
            for name, number in walk.steps:
                ACTIONS[name].do(craft, Random(number))
            session.say("the honest finisher takes over")
            finish = Finisher(craft, exits).finish()
        except AssertionError as error:
            problem = str(error)
        return Outcome(walk=walk, finish=finish, problem=problem, session=session.show())
    finally:
        session.close()


def shrink(outcome: Outcome, server: WarmServer) -> Outcome:
    """Return the shortest walk that ends without an exit, too: leave out actions as long as that works."""
    at = 0
    while at < len(outcome.walk.steps):
        steps = outcome.walk.steps
        shorter = take(replace(outcome.walk, steps=steps[:at] + steps[at + 1 :]), server)
        if shorter.problem:
            outcome = shorter
        else:
            at += 1
    return outcome
