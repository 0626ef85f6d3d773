"""What each message's slug means, in a sentence or two: shown by `explain`, listed in the reference."""

from __future__ import annotations

from collections.abc import Mapping

MESSAGES: Mapping[str, str] = {
    "bad-condition": "A condition can't be parsed, or compares what can't be compared. The column says where.",
    "bad-configuration": "phase-gate.yaml has a key or a value that we do not know. The line says where.",
    "bad-criteria": "The acceptance criteria can't be read.",
    "bad-signal": "exit-signal.yaml is not plainly an answer. Gate 2 stays closed until its author mends it.",
    "bad-task-file": "A task file of the verification gate has an element, a key or a value that we do not know.",
    "bad-task-name": "There is no such task, or it can't be: its name is a folder's: letters, digits and . _ - only.",
    "bad-usage": "The words of the command line are off.",
    "bad-vote": "A vote's file is not plainly an answer: vote, confidence from 0 to 1, by, and a reason to object.",
    "bad-workflow": "A workflow file has a key, a name or a value that we do not know. The line says where.",
    "bad-yaml": "A file is not in the strict form of YAML that we read: no tags, anchors, duplicate keys or tabs.",
    "contradictory-signal": "The signal says done and names remaining work. One of the two is wrong.",
    "foreign-root": "The root belongs to another user, whose rules could run commands as you. Trust it, or copy it.",
    "internal-fault": "A fault of ours. Your test results are complete; the run could not be judged.",
    "lock-timeout": "Another run or command held the state's lock for too long. The message names it.",
    "malformed-result": "An executor's report or a reviewer's verdict is not in its form. The line says where.",
    "not-allowed": "Allowed at another time, but not now. The message says what is missing.",
    "output-lost": "The answer could not be written where it was sent. What the command did is done all the same.",
    "phase-order": "The workflow does not allow this phase now. The message says what is missing.",
    "shards-refused": "The records of shards are not one whole run: one is missing, repeated, unfinished or foreign.",
    "stale-signal": "A signal speaks of one run on one tree. Something ran or changed since: give it anew.",
    "state-foreign": "The ledger is another task's, or was put in the place of one whose cycle is still open.",
    "state-key": "The ledger was made with PHASE_GATE_KEY, and the key is not there, or is another one.",
    "state-keyless": "PHASE_GATE_KEY is set, and the ledger was made without a key. A person may adopt it.",
    "state-newer": "The state was written by a newer version. Nothing was changed.",
    "state-rolled-back": "The state folder is older than what this user has already seen of it: an old copy is back.",
    "state-storage": "A state file can't be read or written. Your tests ran; nothing was recorded.",
    "state-tampered": "The ledger's chain is broken, or state.json is not what it gives. Nothing is overwritten.",
    "too-many-files": "Without git every file below the root is looked at, and there are too many of them.",
}
