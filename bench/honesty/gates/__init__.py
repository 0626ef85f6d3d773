"""One file a gate: how its users run pytest, and what they take for done. Each file has a `GATE`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence

from bench.honesty.place import Place
from tests.scenarios import Step

#: Exit codes of pytest that users take for a failing test: tests failed; a test file could not be imported.
RED_CODES = (1, 2)


class Gate:
    """What the others begin from: pytest is run as it is, and its exit code decides."""

    #: As on the command line, and as in the table.
    name = ""
    title = ""
    #: Gates of one family understand the same steps `tell` and `with`.
    family = ""
    #: Distributions beside pytest that its environment has; those of this checkout by their folders.
    packages: tuple[str, ...] = ()
    #: Modules that pytest loads where it does not look for plugins by itself.
    plugins: tuple[str, ...] = ()
    #: From left to right, and from top to bottom.
    order = 50

    def begin(self, place: Place) -> None:
        """Prepare the project, before the first step."""

    def options(self, step: Step) -> Sequence[str]:
        """Return what its users type in each run."""
        return ()

    def run(self, place: Place, step: Step) -> None:
        interpreter = step.python if step.python and step.python[0].startswith("{") else (place.python, *step.python)
        extra = step.extra.get(self.family, ())
        words = [*interpreter, "-m", "pytest", *self.options(step), *step.options, *extra]
        place.codes.append(place.run(words, step.environment))

    def tell(self, place: Place, words: Sequence[str], environment: Mapping[str, str]) -> None:
        """Run a command of the gate's own."""

    def claim(self, place: Place, step: Step) -> None:
        """Say that a phase is over."""

    def is_done(self, place: Place, step: Step) -> bool:
        """Decide about the last claim."""
        if step.value == "red":
            return bool(place.codes) and place.codes[-1] in RED_CODES
        return bool(place.codes) and place.codes[-1] == 0


def load_gates() -> list[Gate]:
    """Return the gate of each file in this folder."""
    found = (importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__))
    gates: list[Gate] = [module.GATE for module in found if hasattr(module, "GATE")]
    return sorted(gates, key=lambda gate: (gate.order, gate.name))
