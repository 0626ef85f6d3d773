"""How a run was narrowed: options and arguments that choose tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from phase_gate.storage.root import relative_id


def describe_narrowing(config: pytest.Config, deselected: int) -> tuple[str, ...]:
    """Return the options and arguments that choose tests, as a user would have typed them."""
    option = config.option
    words: list[str] = []
    for name, flag in (("keyword", "-k"), ("markexpr", "-m")):
        value = getattr(option, name, "")
        if value:
            words.append(f"{flag} {value!r}")
    for name, flag in (("lf", "--lf"), ("stepwise", "--sw"), ("pyargs", "--pyargs")):
        if getattr(option, name, False):
            words.append(flag)
    for name, flag in (("deselect", "--deselect"), ("ignore", "--ignore"), ("ignore_glob", "--ignore-glob")):
        words += [f"{flag} {value}" for value in getattr(option, name, None) or ()]
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        words += [str(argument) for argument in config.args]
    if deselected and not words:
        words.append(f"{deselected} deselected by a hook")
    return tuple(words)


def sees_whole_files(config: pytest.Config) -> bool:
    """Tell whether every test of a collected file was looked at. `--lf` drops tests of a file without saying which."""
    return not getattr(config.option, "lf", False)


def narrowed_files(config: pytest.Config, root: Path) -> frozenset[str]:
    """Return the files of which only some tests were asked for."""
    base = config.invocation_params.dir
    return frozenset(
        relative_id(base / argument.partition("::")[0], root) for argument in map(str, config.args) if "::" in argument
    )
