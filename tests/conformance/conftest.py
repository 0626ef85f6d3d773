"""What every conformance test needs before the first inner session.

An in-process session forgets the modules that it imported. Imported out here they are not read again by each of
hundreds of sessions, which is most of their time. And a second import of yaml would get event classes that its C part,
which stays loaded, does not use: every file would look empty.
"""

from __future__ import annotations

import importlib
import pkgutil

import filelock  # noqa: F401
import yaml  # noqa: F401

import phase_gate

for _module in pkgutil.walk_packages(phase_gate.__path__, "phase_gate."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)
