"""A newcomer: what lies in the folder at first, and what is typed; and how it went."""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.values import Value


class Newcomer(Value):
    name: str
    #: What is in the folder before, by path.
    files: Mapping[str, str]
    #: What is typed until the first verdict. The last one has to show it.
    typed: tuple[str, ...]
    #: What this newcomer has already, typed as well but not counted: the tool, an environment, a project.
    before: tuple[str, ...] = ()
    #: Requirements of the tools, installed beside the project by pip.
    tools: tuple[str, ...] = ()
    #: Whether it is typed in a Debian that has nothing but Python: `--fresh-root`.
    in_fresh_root: bool = False
    #: What the last command has to print.
    expects: tuple[str, ...] = ("phase gate: RED", "Verdict", "Next")
    #: How it has to end: an open gate, or a closed one, which is a verdict, too.
    codes: tuple[int, ...] = (0, 10)


class Went(Value):
    newcomer: str
    commands: int
    #: From the first command that counts to the verdict.
    seconds: float = 0.0
    #: Of these, the last command.
    verdict_seconds: float = 0.0
    #: Why there is no verdict; empty if there is one.
    problem: str = ""
    #: What could not be had here.
    missing: str = ""
