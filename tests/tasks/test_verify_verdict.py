"""The verdict on a verify task: each unmet clause has a name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tasks.verifying import WRONG, Gate

pytestmark = pytest.mark.processes


def unmet(document: Any) -> set[str]:
    gate_1 = document["evaluation"]["gate_1"]
    clauses = {clause["text"] for clause in gate_1["clauses"] if clause["met"] is not True}
    return clauses | {guard["name"] for guard in gate_1["guards"] if guard["met"] is not True}


@pytest.mark.criterion("VG-07")
def test_each_missing_row_has_a_name(gate: Gate) -> None:
    gate.start()
    gate.paper("result.yaml", gate.result("failure"))
    document = gate.json("verify", "executor", "result.yaml")
    assert 'executor_status == "success"' in unmet(document)
    assert "verify_ran == true" in unmet(document)
    gate.project.write(planner=WRONG)
    gate.paper("result.yaml", gate.result(done_criteria_met=False))
    document = gate.json("verify", "executor", "result.yaml")
    assert "done_criteria_met == true" in unmet(document)
    assert document["previous_failures"][-1]["error"].endswith("also that the done-criteria are not met")
    gate.project.write(planner=WRONG + "\n")
    gate.executor()
    document = gate.json("verify", "run")
    assert "verify_exit_code == 0" in unmet(document)
    assert document["evaluation"]["gate_2"]["satisfied"] is False
