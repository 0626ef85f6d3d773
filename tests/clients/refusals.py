"""How each makers' server refuses: status, kind and words, as their documentation and their clients have them."""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.values import replace
from tests.clients.model import Fault, Refusal, Script
from tests.clients.scenarios import Scenario

#: Seconds, in the header that asks for patience.
_PATIENCE = 1

_OPENAI: Mapping[str, Refusal] = {
    "login": Refusal(status=401, kind="invalid_api_key", message="Incorrect API key provided: none."),
    "credit": Refusal(
        status=402,
        kind="insufficient_quota",
        message="You exceeded your current quota, please check your plan and billing details.",
    ),
    "rate": Refusal(
        status=429, kind="rate_limit_exceeded", message="Rate limit reached for requests.", retry_after=_PATIENCE
    ),
    "overload": Refusal(
        status=529, kind="server_is_overloaded", message="Our servers are currently overloaded.", retry_after=_PATIENCE
    ),
}

REFUSALS: Mapping[str, Mapping[str, Refusal]] = {
    "claude": {
        "login": Refusal(status=401, kind="authentication_error", message="invalid x-api-key"),
        "credit": Refusal(
            status=402, kind="billing_error", message="Your credit balance is too low to access the Anthropic API."
        ),
        "rate": Refusal(
            status=429,
            kind="rate_limit_error",
            message="This request would exceed your organization's rate limit.",
            retry_after=_PATIENCE,
        ),
        "overload": Refusal(status=529, kind="overloaded_error", message="Overloaded", retry_after=_PATIENCE),
    },
    "codex": _OPENAI,
    "copilot": _OPENAI,
    "gemini": {
        "login": Refusal(status=401, kind="UNAUTHENTICATED", message="API key not valid. Please pass a valid API key."),
        "credit": Refusal(status=402, kind="FAILED_PRECONDITION", message="Billing is not enabled for this project."),
        "rate": Refusal(
            status=429, kind="RESOURCE_EXHAUSTED", message="Resource has been exhausted.", retry_after=_PATIENCE
        ),
        "overload": Refusal(status=529, kind="UNAVAILABLE", message="The model is overloaded.", retry_after=_PATIENCE),
    },
}


def script_for(client: str, scenario: Scenario) -> Script:
    """Return the script with the refusals in the words of the client's own server."""
    if not scenario.refused:
        return scenario.script
    refusal = REFUSALS[client][scenario.refused]

    def change(fault: Fault) -> Fault:
        return refusal if isinstance(fault, Refusal) else fault

    faults = {step: tuple(map(change, row)) for step, row in scenario.script.faults.items()}
    return replace(scenario.script, faults=faults)
