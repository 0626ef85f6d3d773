"""Whether pytest is here, and finds the plugin: the command is installed by itself, too."""

from __future__ import annotations

from importlib.util import find_spec

from phase_gate.errors import UsageError

#: Brings pytest, the plugin's entry point and this command.
INSTALL = "pip install pytest-phase-gate"


def require_pytest() -> None:
    """Raise UsageError where the command can't start a pytest."""
    if find_spec("pytest") is None:
        raise UsageError("pytest is not installed beside this command", remedy=INSTALL)


def require_plugin() -> None:
    """Raise UsageError where a pytest that the command starts does not know the plugin."""
    require_pytest()
    from importlib.metadata import entry_points

    if not entry_points(group="pytest11", name="phase_gate"):
        raise UsageError("the command is installed, the pytest plugin is not", remedy=INSTALL)
