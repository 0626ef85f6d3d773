"""Make inputs from type hints, with Hypothesis, and let it look for the smallest one for which something is so.

Runs in a room: the types are those of the project.
"""

from __future__ import annotations

import base64
import inspect
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, reject, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException, Unsatisfiable

from phase_gate.behaviour.calling import NotThereError, Target, hints_of, parameters_of
from phase_gate.behaviour.spelling import shorten

#: Large enough to pass most limits in code, small enough for code that counts up to it.
_LARGE = 1 << 16
#: Characters and bytes of a text.
_LONG = 20
#: Further arguments of a function that takes any number.
_MORE = 3


class _DiffersError(Exception):
    """What is looked for: Hypothesis makes the input smaller."""


def make_inputs(
    target: Target,
    judge: Callable[[str], bool],
    *,
    number: int,
    examples: int,
    constants: Sequence[Mapping[str, list[Any]]],
) -> None:
    """Make inputs, and have each judged; one that is worth it is made smaller. Raises NotThereError if there are none.

    :param judge: gets the pickled input; returns whether to look for a smaller one.
    :param number: the seed.
    :param constants: what stands in the function, and in its module: limits and names that matter there.
    """
    _register(constants)
    strategy = _strategy(target)
    problem: list[str] = []

    @seed(number)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
    )
    @given(strategy)
    def search(made: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
        try:
            packed = pickle.dumps(made)
        except Exception as error:
            problem.append(f"its arguments can't be sent to another process: {shorten(str(error))}")
            reject()
        if judge(base64.b64encode(packed).decode("ascii")):
            raise _DiffersError

    try:
        search()
    except _DiffersError:
        return
    except Unsatisfiable:
        raise NotThereError(problem[0] if problem else "no valid input could be made from its hints") from None
    except HypothesisException as error:
        if type(error).__name__.startswith("Flaky"):
            return  # the one who judges has seen it
        raise NotThereError(f"no input can be made from its hints: {shorten(str(error))}") from None


def _strategy(target: Target) -> st.SearchStrategy[tuple[tuple[Any, ...], dict[str, Any]]]:
    hints = hints_of(target)
    fixed: list[st.SearchStrategy[Any]] = [] if target.owner is None else [st.from_type(target.owner)]
    named: dict[str, st.SearchStrategy[Any]] = {}
    rest: st.SearchStrategy[list[Any]] = st.just([])
    more: st.SearchStrategy[dict[str, Any]] = st.just({})
    is_cut = False
    for each in parameters_of(target):
        if each.name not in hints:
            if each.default is inspect.Parameter.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                raise NotThereError(f"{each.name} has no hint")
            # What follows could be given by name only, and may be called otherwise by now.
            is_cut = is_cut or each.kind in (each.POSITIONAL_OR_KEYWORD, each.POSITIONAL_ONLY)
            continue
        hint = hints[each.name]
        wanted = st.from_type(object if hint is Any else hint)
        if each.kind is each.VAR_POSITIONAL:
            rest = st.lists(wanted, max_size=_MORE)
        elif each.kind is each.VAR_KEYWORD:
            more = st.dictionaries(st.sampled_from(["a", "b", "key", "name"]), wanted, max_size=_MORE)
        elif each.kind is each.KEYWORD_ONLY:
            named[each.name] = wanted
        elif not is_cut:
            fixed.append(wanted)
    return _compose(fixed, named, rest, more)


@st.composite
def _compose(
    draw: st.DrawFn,
    fixed: list[st.SearchStrategy[Any]],
    named: Mapping[str, st.SearchStrategy[Any]],
    rest: st.SearchStrategy[list[Any]],
    more: st.SearchStrategy[dict[str, Any]],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        given = [draw(each) for each in fixed]
        others = {name: draw(each) for name, each in named.items()}
        return (*given, *draw(rest)), {**others, **draw(more)}
    except HypothesisException:
        raise
    except Exception:  # a class that does not take every value of its hints
        reject()


def _register(constants: Sequence[Mapping[str, list[Any]]]) -> None:
    """Let plain types have values that are bounded, with those that stand in the code among them."""
    small, wide = st.integers(-100, 100), st.integers(-_LARGE, _LARGE)
    for kind, name, usual in (
        (int, "ints", st.one_of(small, wide)),
        (float, "floats", st.floats()),
        (str, "texts", st.text(max_size=_LONG)),
    ):
        there = [st.sampled_from(each[name]) for each in constants if each[name]]
        st.register_type_strategy(kind, st.one_of(usual, *there))
    st.register_type_strategy(bytes, st.binary(max_size=_LONG))
    simple = st.one_of(st.none(), st.booleans(), small, st.text(max_size=_LONG))
    anything = st.one_of(simple, st.lists(simple, max_size=3), st.dictionaries(st.text(max_size=3), simple, max_size=3))
    st.register_type_strategy(object, anything)
