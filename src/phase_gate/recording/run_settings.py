"""pytest's settings, as far as they change the meaning of a test; and the filters of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from phase_gate.gate.freeze import PROFILE
from phase_gate.recording.ownership import is_installed, real_path
from phase_gate.storage.root import is_in_environment, relative_id

#: Options that change the meaning of a test, and how each is typed.
_OPTIONS = {
    "override_ini": "-o",
    "noconftest": "--noconftest",
    "runxfail": "--runxfail",
    "importmode": "--import-mode",
    "pythonwarnings": "-W",
}


def take_testpaths(config: pytest.Config, root: Path) -> tuple[str, ...]:
    return tuple(relative_id(root / folder, root) for folder in config.getini("testpaths"))


def take_settings(config: pytest.Config, root: Path) -> dict[str, str]:
    """Return pytest's settings that must not change once the tests are frozen."""
    settings = {f"ini {name}": str(_value(value)) for name, value in _ini_values(config).items()}
    for name, flag in _OPTIONS.items():
        value = getattr(config.option, name, None)
        if value and not (name == "importmode" and value == "prepend"):
            settings[f"option {flag}"] = str(value)
    inifile = config.inipath
    settings["option -c"] = "" if inifile is None else relative_id(inifile, root)
    settings["plugins"] = " ".join(sorted(name for name, _, _ in _plugins_in(config, root)))
    return settings | _profile()


def _profile() -> dict[str, str]:
    """Return the profile of hypothesis, if it is loaded: an option, a variable or code can choose it."""
    name = getattr(getattr(sys.modules.get("hypothesis"), "settings", None), "_current_profile", None)
    return {} if name is None else {PROFILE: str(name)}


def _ini_values(config: pytest.Config) -> Mapping[str, object]:
    # `inicfg` is deprecated since 9.1 and has no successor that shows which settings a file has.
    found = getattr(config, "_inicfg", None)
    return found if found is not None else config.inicfg


def _value(value: object) -> object:
    return getattr(value, "value", value)


def local_plugins(config: pytest.Config, root: Path) -> tuple[str, ...]:
    """Return the files of the project's local plugins for its own tests, from the root.

    A plugin with an entry point is the project's product, and is installed for development.
    """
    announced = announced_packages(config)
    found = ((_package(plugin), path) for _, plugin, path in _plugins_in(config, root))
    return tuple(sorted({relative_id(Path(path), root) for package, path in found if package not in announced}))


def announced_packages(config: pytest.Config) -> set[str]:
    """Return the packages of plugins with an entry point in an installed distribution."""
    return {_package(plugin) for plugin, _ in config.pluginmanager.list_plugin_distinfo()} - {""}


def _package(plugin: object) -> str:
    return str(getattr(plugin, "__name__", "")).partition(".")[0]


def _plugins_in(config: pytest.Config, root: Path) -> Iterator[tuple[str, object, str]]:
    """Yield the plugins from the project itself; those of installed distributions may change."""
    top = os.path.realpath(root)
    for name, plugin in config.pluginmanager.list_name_plugin():
        file = getattr(plugin, "__file__", None)
        if not isinstance(file, str) or os.path.basename(file) == "conftest.py":
            continue
        path = "" if is_installed(file) else real_path(file)
        if path.startswith(top + os.sep) and not is_in_environment(path, top):
            yield name, plugin, path


# --- options and arguments that choose tests


def describe_narrowing(config: pytest.Config, deselected: int) -> tuple[str, ...]:
    """Return the options and arguments that select tests, as a user would type them."""
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
    """Return whether all tests of each collected file were considered. `--lf` drops tests of a file without reports."""
    return not getattr(config.option, "lf", False)


def narrowed_files(config: pytest.Config, root: Path) -> frozenset[str]:
    """Return the files with a selection of single tests."""
    base = config.invocation_params.dir
    return frozenset(
        relative_id(base / argument.partition("::")[0], root) for argument in map(str, config.args) if "::" in argument
    )
