"""`python -m pytest_phase_gate.cli`."""

from __future__ import annotations

from pytest_phase_gate.cli import main

raise SystemExit(main())
