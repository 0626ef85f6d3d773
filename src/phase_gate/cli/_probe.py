"""A pytest plugin for `phase-gate doctor`: pytest starts, says where it has our plugin from, and ends."""

from __future__ import annotations

import json

import pytest

#: In front of the answer: what else stands on stdout is the project's.
MARK = "phase-gate probe: "


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int:
    # By module, not by name: it is another one with `-p` than by its entry point.
    found = [
        getattr(plugin, "__file__", "")
        for _, plugin in config.pluginmanager.list_name_plugin()
        if getattr(plugin, "__name__", "") == "phase_gate.plugin"
    ]
    print(f"\n{MARK}{json.dumps({'plugin': found[0] if found else None})}", flush=True)
    return 0
