"""`python -m phase_gate.cli`."""

from __future__ import annotations

from phase_gate.cli import main

raise SystemExit(main())
