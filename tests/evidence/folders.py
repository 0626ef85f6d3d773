"""A project, and what providers say of it: what the cycle and the phase began with is remembered as JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.gate.measured import Measured
from phase_gate.storage.fingerprint import take_tree
from phase_gate.storage.listing import list_files
from phase_gate.values import replace
from phase_gate.workflow.settings import Configuration


class Folder:
    def __init__(self, root: Path, *, wanted: frozenset[str], has_git: bool = False) -> None:
        self.root, self.wanted = root, wanted
        self.memory: dict[str, Any] = {}
        self.tests: frozenset[str] = frozenset()
        self.configuration = Configuration()
        if has_git:
            subprocess.run(["git", "init", "-q", str(root)], check=True)

    def set(self, **settings: Any) -> Self:
        self.configuration = replace(self.configuration, evidence=replace(self.configuration.evidence, **settings))
        return self

    def write(self, files: Mapping[str, str | bytes] | None = None, /, **modules: str) -> Self:
        for name, text in {**(files or {}), **{f"{name}.py": text for name, text in modules.items()}}.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return self

    def remove(self, name: str) -> Self:
        (self.root / name).unlink()
        return self

    @property
    def context(self) -> EvidenceContext:
        state = self.root / ".phase-gate"
        return EvidenceContext(
            root=self.root,
            folder=state,
            state_folder=state,
            configuration=self.configuration,
            wanted=self.wanted,
            list_files=lambda keep: list_files(self.root, state_folder=state, keep=keep),
            files=lambda: take_tree(self.root, state_folder=state).files,
            recall=self.memory.get,
            known_tests=lambda: self.tests,
        )

    def remember(self, name: str, provider: Provider) -> Self:
        """A cycle or a phase begins: what is here now was here before."""
        self.memory[name] = json.loads(json.dumps(provider.remember(self.context)))
        return self

    def measure(self, provider: Provider, *names: str) -> Measured:
        return provider.measure(replace(self.context, wanted=frozenset(names) or self.wanted))
