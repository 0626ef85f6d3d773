"""Find a function in its module, call it with made-up input, and say what came of it.

Runs in a room, in the process that calls.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import inspect
import os
import pickle
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from phase_gate.behaviour.forms import form_of
from phase_gate.behaviour.guarding import Guard, LateError, Limits, RefusedError
from phase_gate.behaviour.spelling import Spelling, public_attributes, shorten
from phase_gate.values import Literal, Value

#: How a function is reached.
Way = Literal["function", "method", "class", "property"]


class NotThereError(Exception):
    """The function can't be had; says why."""


class Target(Value):
    """A function of the project, ready to be called."""

    name: str
    way: Way
    #: What is called; of a method, the function with its first parameter.
    call: Callable[..., Any]
    #: What has the hints and parameters, and how many of them a call does not give.
    described: Callable[..., Any]
    skipped: int = 0
    #: The class that a method needs an object of.
    owner: type | None = None


def import_module(root: str, file: str, names: list[str]) -> Any:
    """Return the module of a file. Raises NotThereError.

    :param names: what it may be called, the likeliest first.
    """
    expected = os.path.realpath(os.path.join(root, file))
    problem = ""
    for name in names:
        try:
            module = importlib.import_module(name)
        except BaseException as error:  # a module may end the process, too
            problem = problem or f"{name} can't be imported: {_name(error)}"
            continue
        found = os.path.realpath(getattr(module, "__file__", None) or "")
        if found == expected or not file:
            return module
        problem = problem or f"{name} is imported from elsewhere"
        sys.modules.pop(name, None)
    raise NotThereError(problem)


def find_target(module: Any, name: str) -> Target:
    """Return the function of that qualified name. Raises NotThereError."""
    *path, last = name.split(".")
    owner: Any = module
    for part in path:
        owner = getattr(owner, part, None)
    if owner is None or not hasattr(owner, last):
        raise NotThereError(f"{name} is not there once its module is imported")
    if not path:
        found = getattr(module, last)
        if not callable(found):
            raise NotThereError(f"{name} is not callable")
        return Target(name=name, way="function", call=found, described=inspect.unwrap(found))
    kept = inspect.getattr_static(owner, last)
    if last == "__init__":
        return Target(name=name, way="class", call=owner, described=inspect.unwrap(kept), skipped=1)
    if isinstance(kept, staticmethod | classmethod):
        found = getattr(owner, last)
        return Target(name=name, way="function", call=found, described=inspect.unwrap(found))
    if isinstance(kept, property) or type(kept).__name__ == "cached_property":
        getter: Any = getattr(kept, "fget", None) or getattr(kept, "func", None)
        return Target(
            name=name,
            way="property",
            call=lambda one: getattr(one, last),
            described=inspect.unwrap(getter),
            skipped=1,
            owner=owner,
        )
    return Target(
        name=name,
        way="method",
        call=lambda one, *given, **named: getattr(one, last)(*given, **named),
        described=inspect.unwrap(kept),
        skipped=1,
        owner=owner,
    )


def parameters_of(target: Target) -> list[inspect.Parameter]:
    """Return the parameters that a call has to give, without the object of a method. Raises NotThereError."""
    try:
        return list(inspect.signature(target.described).parameters.values())[target.skipped :]
    except (TypeError, ValueError) as error:
        raise NotThereError(f"its parameters can't be read: {error}") from error


def is_async(target: Target) -> bool:
    """Tell whether a call gives a coroutine."""
    return inspect.iscoroutinefunction(target.described)


def is_stream(target: Target) -> bool:
    """Tell whether a call gives an asynchronous generator."""
    return inspect.isasyncgenfunction(target.described)


def hints_of(target: Target) -> dict[str, Any]:
    """Return the hints by parameter, evaluated. Raises NotThereError."""
    from typing import get_type_hints

    try:
        return get_type_hints(target.described, include_extras=True)
    except Exception as error:
        raise NotThereError(f"its hints can't be read: {_name(error)}: {shorten(str(error))}") from error


class Caller:
    """Calls one function after the other."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def call(self, target: Target, packed: str, limits: Limits, *, is_spelled: bool = False) -> dict[str, Any]:
        """Return what came of a call, as plain JSON.

        :param packed: the arguments, pickled.
        :param is_spelled: with what the answer looks like in source code.
        """
        outcome: dict[str, Any] = {"ended": "unusable", "output": ""}
        try:
            printed = self._guard.begin(limits)
            data = base64.b64decode(packed)
            try:
                given, named = pickle.loads(data)
                outcome["given"] = form_of(pickle.loads(data))
                if is_spelled:
                    outcome["spelled_before"] = _spell_arguments(*pickle.loads(data))
                _check(target, given, named)
            except Exception as error:
                return {**outcome, "shown": f"{_name(error)}: {shorten(str(error))}"}
            outcome |= _answer(target, given, named, is_spelled=is_spelled)
            outcome["arguments"] = form_of((given, named))
            if is_spelled:
                outcome["spelled_after"] = _spell_arguments(given, named)
            outcome["output"] = printed.getvalue().decode("utf-8", "replace")
        except LateError:
            outcome = {"ended": "late"}
        except RefusedError:
            pass
        finally:
            self._guard.end()
        if self._guard.refused:
            return {"ended": "refused", "shown": self._guard.refused}
        return outcome


def _check(target: Target, given: tuple[object, ...], named: dict[str, object]) -> None:
    """Raise TypeError where the function does not take these arguments at all."""
    inside = (None, *given) if target.way == "class" else given
    inspect.signature(target.described).bind(*inside, **named)


def _answer(target: Target, given: tuple[object, ...], named: dict[str, object], *, is_spelled: bool) -> dict[str, Any]:
    try:
        value = _settle(target.call(*given, **named))
        recorded: list[object] = []
        is_iterator = isinstance(value, Iterator)
        form = form_of(_record(value, recorded) if is_iterator and is_spelled else value)
    except (LateError, RefusedError):
        raise
    except BaseException as error:  # sys.exit() is an answer like any other
        said = shorten(f"{_name(error)}: {error}").removesuffix(": ")
        return {"ended": "raised", "raised": _name(error), "module": type(error).__module__, "shown": said}
    answer: dict[str, Any] = {"ended": "returned", "value": form, "is_iterator": is_iterator}
    if is_spelled:
        answer["spelled"] = _spell(recorded if is_iterator else value)
        answer["shown"] = shorten(_repr(recorded if is_iterator else value))
    return answer


def _record(values: Iterator[object], recorded: list[object]) -> Iterator[object]:
    for each in values:
        recorded.append(each)
        yield each


def _spell_arguments(given: tuple[object, ...], named: dict[str, object]) -> dict[str, Any]:
    return {"given": [_spell(each) for each in given], "named": {name: _spell(each) for name, each in named.items()}}


def _settle(value: Any) -> Any:
    """Return the value that a coroutine gives; of an asynchronous generator, an iterator over what it gives."""
    if inspect.iscoroutine(value):
        return asyncio.run(value)
    if inspect.isasyncgen(value):
        return _drain(value)
    return value


def _drain(values: AsyncIterator[object]) -> Iterator[object]:
    with asyncio.Runner() as runner:
        while True:
            try:
                yield runner.run(_next(values))
            except StopAsyncIteration:
                return


async def _next(values: AsyncIterator[object]) -> object:
    return await anext(values)


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:
        return f"a {type(value).__qualname__} whose repr raises {_name(error)}"


def _spell(value: object) -> dict[str, Any]:
    spelling = Spelling()
    spelled: dict[str, Any] = {"text": spelling.write(value)}
    names = public_attributes(value)
    if names is not None:
        spelled["public"] = {name: _spell(getattr(value, name)) for name in names}
    return {**spelled, "imports": sorted(spelling.imports), "is_exact": spelling.is_exact}


def _name(error: BaseException) -> str:
    return type(error).__qualname__
