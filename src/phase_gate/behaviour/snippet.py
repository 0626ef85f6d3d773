"""Write the test that the code as it was passes, for one input. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from phase_gate.behaviour.comparing import Kind, Outcome
from phase_gate.behaviour.forms import EXHAUSTED, GOES_ON
from phase_gate.values import Value

#: Values for which `==` says too little.
_NOT_BY_EQUALITY = re.compile(r"\bnan\b|-0\.0\b|\binf\b|-0j\b")


class Called(Value):
    """How a function is called in a test."""

    #: The module that it is imported from.
    module: str
    #: Its qualified name.
    name: str
    way: str
    is_async: bool = False
    #: It gives an asynchronous generator.
    is_stream: bool = False


class Written(Value):
    """A call, and a test around it."""

    call: str
    test: str


def write_test(called: Called, kind: Kind, then: Outcome, now: Outcome) -> Written:
    """Return the test that says what the code gave before.

    :param then: the answer to be kept, with what it looks like in source code; `now` likewise.
    """
    arguments = _pick_arguments(then, now)
    imports = {f"from {called.module} import {called.name.partition('.')[0]}"}
    imports |= {line for each in _all(arguments) for line in each["imports"]}
    names = _variables(arguments) if kind == "arguments" else {}
    call = _call(called, arguments, names)
    if called.is_async:
        imports.add("import asyncio")
        call = f"asyncio.run({call})"
    if called.is_stream:
        imports.add("import asyncio")
        call = f"asyncio.run(collect({call}))"
    body, more = _body(kind, then, now, call, names, is_stream=called.is_stream)
    imports |= more
    is_exact = all(each["is_exact"] for each in _all(arguments))
    notes = [] if is_exact else ["# Not every value has source code: some are shown as they print."]
    last = called.name.removesuffix(".__init__").replace(".", "_").strip("_").lower()
    head = f"def test_{last}_keeps_its_behaviour({'capsys' if kind == 'output' else ''}):"
    helper = ["", "", *_COLLECT] if called.is_stream else []
    rows = [*_sort_imports(imports), *helper, "", "", head, *(f"    {row}" for row in (*notes, *body))]
    return Written(call=_call(called, arguments, {}), test="\n".join(rows))


_COLLECT = ("async def collect(values):", "    return [each async for each in values]")


def _pick_arguments(then: Outcome, now: Outcome) -> Mapping[str, Any]:
    # Written for the code as it is now: classes may have moved.
    found = now.get("spelled_before") or then.get("spelled_before")
    return found or {"given": [], "named": {}}


def _all(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*arguments["given"], *arguments["named"].values()]


def _variables(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return variable -> source code, for arguments that are looked at after the call."""
    given = {f"given_{number}": each["text"] for number, each in enumerate(arguments["given"], start=1)}
    return {**given, **{f"given_{name}": each["text"] for name, each in arguments["named"].items()}}


def _call(called: Called, arguments: Mapping[str, Any], names: Mapping[str, str]) -> str:
    if names:
        given = list(names)[: len(arguments["given"])]
        named = [f"{name}=given_{name}" for name in arguments["named"]]
    else:
        given = [each["text"] for each in arguments["given"]]
        named = [f"{name}={each['text']}" for name, each in arguments["named"].items()]
    if called.way == "class":
        return f"{called.name.removesuffix('.__init__')}({', '.join([*given, *named])})"
    if called.way in ("method", "property"):
        owner, *given = given
        last = called.name.rpartition(".")[2]
        return f"{owner}.{last}" + (f"({', '.join([*given, *named])})" if called.way == "method" else "")
    return f"{called.name}({', '.join([*given, *named])})"


def _body(
    kind: Kind, then: Outcome, now: Outcome, call: str, names: Mapping[str, str], *, is_stream: bool
) -> tuple[list[str], set[str]]:
    if kind == "arguments":
        return _arguments_after(then, now, call, names)
    if kind == "output":
        return [call, f"assert capsys.readouterr().out == {then['output']!r}"], set()
    if then["ended"] == "raised":
        return _raises(then, call)
    imports = set(then["spelled"]["imports"])
    if then["is_iterator"] and not is_stream:
        call, more = _take(call, then, now)
        imports |= more
    if kind == "type":
        return [f"assert repr({call}) == {then['spelled']['text']!r}"], imports
    return _assertions(call, then["spelled"]), imports


def _arguments_after(then: Outcome, now: Outcome, call: str, names: Mapping[str, str]) -> tuple[list[str], set[str]]:
    after = dict(zip(names, _all(then["spelled_after"]), strict=True))
    raising, imports = _raises(then, call)
    rows = [f"{name} = {text}" for name, text in names.items()]
    rows += raising or [call]  # what the call gives does not matter here
    others = dict(zip(names, _all(now["spelled_after"]), strict=True))
    changed = {name: each for name, each in after.items() if each != others[name]}
    for name, each in (changed or after).items():
        rows += _assertions(name, each)
        imports |= set(each["imports"])
    return rows, imports


def _take(call: str, then: Outcome, now: Outcome) -> tuple[str, set[str]]:
    """Return a call that takes the items of an iterator, which may have no end."""
    items, ended = then["value"][2:]
    goes_on = GOES_ON in (ended, *now.get("value", ())[3:])
    if ended == EXHAUSTED and not goes_on:
        return f"list({call})", set()
    return f"list(itertools.islice({call}, {len(items) + goes_on}))", {"import itertools"}


def _assertions(shown: str, spelled: Mapping[str, Any]) -> list[str]:
    public = spelled.get("public")
    if public is None:
        return [f"assert {_equals(shown, spelled)}"]
    rows = [] if shown.isidentifier() else [f"found = {shown}"]
    name = shown if shown.isidentifier() else "found"
    return rows + [f"assert {_equals(f'{name}.{each}', value)}" for each, value in public.items()]


def _raises(then: Outcome, call: str) -> tuple[list[str], set[str]]:
    if then["ended"] != "raised":
        return [], set()
    name, module = then["raised"], then["module"]
    imports = {"import pytest"}
    if module != "builtins":
        imports.add(f"from {module} import {name.partition('.')[0]}")
    return [f"with pytest.raises({name}):", f"    {call}"], imports


def _equals(shown: str, spelled: Mapping[str, Any]) -> str:
    text = spelled["text"]
    if not spelled["is_exact"] or _NOT_BY_EQUALITY.search(text):
        printed = re.sub(r'float\("(\w+)"\)', r"\1", text)
        return f"repr({shown}) == {printed!r}"
    return f"{shown} is {text}" if text in ("None", "True", "False") else f"{shown} == {text}"


def _sort_imports(lines: set[str]) -> list[str]:
    """Return modules first, and one line for all names of a module."""
    names: dict[str, list[str]] = {}
    for line in sorted(lines):
        if line.startswith("from "):
            module, _, name = line.removeprefix("from ").partition(" import ")
            names.setdefault(module, []).append(name)
    return [
        *sorted(line for line in lines if line.startswith("import ")),
        *(f"from {module} import {', '.join(found)}" for module, found in names.items()),
    ]
