"""A pytest plugin for `phase-gate doctor`: pytest starts, prints where our plugin was loaded from, and exits."""

from __future__ import annotations

import json

import pytest

#: Marks the answer: other lines on stdout come from the project.
MARK = "phase-gate probe: "


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int:
    # Found by module: the plugin's name with `-p` differs from its entry point's name.
    found = [
        getattr(plugin, "__file__", "")
        for _, plugin in config.pluginmanager.list_name_plugin()
        if getattr(plugin, "__name__", "") == "phase_gate.plugin"
    ]
    print(f"\n{MARK}{json.dumps({'plugin': found[0] if found else None})}", flush=True)
    return 0
