"""Ask every provider whose names the rules speak of. One that raises is named, and takes nothing else with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.gate.measured import SINCE, SINCE_EXIT, Measured, Remembered, Since, wanted_providers

#: Providers that are modules of this package. Only those that are asked are imported: some stand on large libraries.
_OWN = ("sources", "quality", "git", "documents", "commands")
#: Those of features that every task may have.
_OF_FEATURES = {"proof": "phase_gate.proof.provider"}


class _Absent(Provider):
    """Stands for a provider of a feature that the task does not have."""

    def __init__(self, name: str) -> None:
        self._name = name

    def measure(self, context: EvidenceContext) -> Measured:
        return Measured(warnings=(f"what a {self._name} asks for is unknown: this cycle began as none",))


def wanted_here(context: EvidenceContext) -> dict[str, Provider]:
    """Return the providers to ask."""
    return {name: _provider(name, context) for name in wanted_providers(context.wanted, context.configuration)}


def _provider(name: str, context: EvidenceContext) -> Provider:
    module = f"phase_gate.evidence.{name}" if name in _OWN else _OF_FEATURES.get(name)
    if module is not None:
        provider: Provider = import_module(module).PROVIDER
        return provider
    return context.more.get(name) or _Absent(name)


def gather_evidence(context: EvidenceContext, providers: Mapping[str, Provider] | None = None) -> Measured:
    """Return what all of them measured, as one."""
    found = Measured()
    for name, provider in (wanted_here(context) if providers is None else providers).items():
        try:
            measured = provider.measure(context)
        except Exception as error:
            measured = Measured(warnings=(_complain(name, error),))
        found = _join(found, measured)
    return found


def remember_at_entry(
    phase: EvidenceContext,
    cycle: EvidenceContext | None,
    *,
    keep: Callable[[str, Any], str],
    known: Mapping[str, str] | None = None,
) -> Remembered:
    """Return what those who compare want to know later, stored.

    :param phase: with what the entered phase's rules speak of.
    :param cycle: with what all phases' rules speak of, if a cycle begins.
    :param known: what was remembered of the phase already, by provider.
    """
    in_phase, complaints = _remember(phase, "phase", keep, known or {})
    in_cycle, more = ({}, ()) if cycle is None else _remember(cycle, "cycle", keep, {})
    return Remembered(cycle=in_cycle, phase=in_phase, warnings=(*complaints, *more))


def remember_at_exit(following: EvidenceContext, *, keep: Callable[[str, Any], str]) -> dict[str, str]:
    """Return, stored, what the next phase is to be compared with where that begins with the present one's end.

    :param following: with what the next phase's rules speak of.
    """
    return _remember(following, "phase", keep, {}, only=SINCE_EXIT)[0]


def _remember(
    context: EvidenceContext,
    since: Since,
    keep: Callable[[str, Any], str],
    known: Mapping[str, str],
    *,
    only: frozenset[str] | None = None,
) -> tuple[dict[str, str], tuple[str, ...]]:
    found: dict[str, str] = {}
    complaints: list[str] = []
    wanted = [name for name in wanted_providers(context.wanted, context.configuration) if SINCE.get(name) == since]
    for name in wanted:
        if only is not None and name not in only:
            continue
        if name in known:
            found[name] = known[name]
            continue
        try:
            memory = wanted_here(context)[name].remember(context)
        except Exception as error:
            complaints.append(_complain(name, error))
            continue
        if memory is not None:
            found[name] = keep("evidence", memory)
    return found, tuple(complaints)


def _complain(name: str, error: Exception) -> str:
    return f"evidence of {name!r} is unknown: {type(error).__name__}: {error}"


def _join(one: Measured, other: Measured) -> Measured:
    return Measured(
        metrics={**one.metrics, **other.metrics},
        findings=(*one.findings, *other.findings),
        notes=(*one.notes, *other.notes),
        told={**one.told, **other.told},
        tables=(*one.tables, *other.tables),
        warnings=(*one.warnings, *other.warnings),
        remembered={**one.remembered, **other.remembered},
    )
