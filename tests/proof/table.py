"""The rows 41 to 58 of false greens, and their honest twins."""

from __future__ import annotations

from tests.proof.cheat import Cheat
from tests.proof.cheats import CHEATS
from tests.proof.cheats_checks import CHEATS_OF_CHECKS, HONEST_CHECKS
from tests.proof.cheats_outside import CHEATS_OUTSIDE
from tests.proof.cheats_sandbox import CHEATS_OF_SANDBOXES, HONEST_SANDBOXES
from tests.proof.cheats_unfailing import CHEATS_UNFAILING, HONEST_UNFAILING
from tests.proof.honest import HONEST

ALL_CHEATS: tuple[Cheat, ...] = (
    *CHEATS,
    *CHEATS_OUTSIDE,
    *CHEATS_OF_CHECKS,
    *CHEATS_UNFAILING,
    *CHEATS_OF_SANDBOXES,
)
ALL_HONEST: tuple[Cheat, ...] = (*HONEST, *HONEST_CHECKS, *HONEST_UNFAILING, *HONEST_SANDBOXES)

#: What only the experiment refuses stands before the others: of each row, the suite tries the first.
ESSENTIAL_FIRST: tuple[Cheat, ...] = tuple(sorted(ALL_CHEATS, key=lambda each: each.by != "experiment"))
