"""All commands: name, summary, example, function, exit codes and arguments, as one text.

Parser, help, completion, the reference page and many tests are made from it. A block is one command:

    name: summary
      $ an example, without `phase-gate`
      file.function: exit codes, in addition to those of every command; one without words has its usual meaning
      an argument  its meaning

`look.check` is the function `check` in `cli/look.py`. `--name` or the name of a positional argument is followed by its
value: `VALUE`, `[VALUE]` if optional, `VALUE*` and `VALUE+` for several, `a|b` for a choice. Then `int`, `float`,
`required`, `repeated`, `default=...`, or `either` (only one of them).
"""

from __future__ import annotations

from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: Options of the command as a whole.
OF_ALL = ("-h", "--help", "--version")

#: Options that every command has.
COMMON = (
    "--json  answer as JSON",
    "--task NAME  which task (also PHASE_GATE_TASK)",
    "--dir DIR  other state folder (also PHASE_GATE_DIR)",
    "-q  print errors only; use the exit code",
    "-v  print every detail",
)
#: Exit codes that every command has.
COMMON_CODES = {2: "the command line, a file or the rules are invalid", 11: "the state can't be trusted or written"}
#: Meanings of codes without an explanation of their own.
_USUAL = {"10": "a gate is closed", "12": "a person is needed", "13": "not allowed now: see the message"}
#: Abbreviations in the text. The agents are those of `agents.agent_table`.
_ABBREVIATIONS = {
    "CLIENT": "claude|codex|gemini|cursor|copilot|vscode",
    "PERSON": "--reason TEXT  why, in a sentence\n  --by NAME  the person who decides",
    "STEP": "0 the step passed; 10 it failed, or the task is not done yet; 12; 13",
}

#: Groups of sub-commands, with a summary.
FEATURES: dict[str, str] = {
    "agent": "Settings and prompts for coding agents",
    "breaker": "Decide about an open circuit",
    "ci": "A suite that runs in shards",
    "pipeline": "Votes, change requests and recovery of a pipeline",
    "store": "Tasks in a shared store, for work on many machines",
    "verify": "Take a task through executor, verify command and reviewer",
    "workflow": "Workflow files and the schemas of all files",
}

_TEXT = """
# begin with these

demo: Show a cycle on a sample project, with real pytest runs
  $ demo
  demo.demo: 0 every step worked; 1 a step did not

status: Show the status of the task and the next command
  $ status --criteria
  look.status: 0 the phase may end; 10 it may not
  --criteria  print the acceptance criteria and their tests
  --block  print the last verdict as a PRP_PHASE_STATUS block
  --watch  update the output when something changes, until Ctrl-C

check: Exit 0 if the phase may end, 10 if not (read-only)
  $ check --gate1
  look.check: 0 the phase may end; 10 it may not
  --gate1  ignore the exit signal (Gate 2)

explain: Explain the last verdict, or a metric, guard, message or phase by its name
  $ explain tests-unchanged
  explain.explain: 0 the phase may end; 10 it may not
  name [NAME]  a metric, guard, phase, status or message; none: the last verdict
  --gate-result  print the last verdict as a gate result
  --merge FILE  keep the scores of this gate result, with --gate-result

signal: Give the explicit exit signal (Gate 2) for the last complete run
  $ signal --reason "both tests pass, twice"
  steps.signal: 0 the phase has ended; 10; 13 the signal is stale or contradictory
  --reason TEXT default=  why it is done, in a sentence
  --by NAME  your name; the user's name by default
  --next  apply to the next run instead of the last one
  --done either  the phase is done; the default
  --not-done either  the phase is not done: a veto
  --blocked either  a person is needed
  --test-wrong either  a test is wrong

report: Write the history of the task as one HTML file, or as Markdown
  $ report -o .phase-gate/report.html
  story.report: 0 done
  -o --output FILE  write .html or .md, by suffix (default: print it as Markdown)

prove: Show that new tests fail without the change and pass with it
  $ prove --base origin/main
  ci.prove: 0 no test was refuted; 10 a test passes without the change, or a check can't fail; 13
  --base REV  compare with this git revision; needs no phases
  --suite PATH*  find tests whose checks can't fail; needs neither phases nor git
  --exclude GLOB repeated  leave these test files out
  --strict  with --base: exit 10 unless every test needs the change
  --seconds N float  limit of each run (60, with --base 300); with --suite of a test that hangs (120)

# continue

history: List every run of the task, oldest first
  $ history --last 10
  story.history: 0 done
  --last N int  only the last N
  --events  list every event, not only the runs
  --calibration  show how often claims of completion turned out true

declare: Declare a fact that the workflow requires
  $ declare refactoring_complete=true --reason "nothing is left to move"
  steps.declare: 0 done; 13
  fact NAME=VALUE  a name from the workflow's facts, and its value
  --reason TEXT required  why, in a sentence
  --by NAME  your name; the user's name by default

withdraw: Take back a waiting signal, or a declared fact
  $ withdraw refactoring_complete
  steps.withdraw: 0 done; 13
  fact [FACT]  a declared fact; by default the waiting signal

advance: Enter the next phase, or evaluate a phase that needs no tests
  $ advance
  steps.advance: 0 the next phase begins, or this one has ended; 10; 13

rewind: Go back to an earlier phase
  $ rewind red --reason "a case is missing"
  steps.rewind: 0 done; 13
  phase PHASE  the earlier phase to go back to
  --reason TEXT required  why, in a sentence
  --by NAME  your name; the user's name by default

baseline: Record the tests and outcomes that the next cycle starts from
  $ baseline --rev HEAD~1
  steps.baseline: 0 done; 13
  --rev REV  take it from this git revision, in a separate worktree
  arguments -- ARGS*  arguments for pytest

# decide against the evidence (people only)

waive: Accept the current findings of a guard, with a reason
  $ waive tests-kept --reason "the vendor dropped the call" --by Ada --days 7
  people.waive: 0 done; 13
  guard GUARD  the guard that the last verdict names
  PERSON
  --days N float  expire after N days; by default with the cycle

breaker reset: Allow one more run while the circuit is open, with a reason
  $ breaker reset --reason "the rounding was explained to me" --by Ada
  people.reset: 0 done; 13
  PERSON

breaker skip: Skip the phase while its circuit is open, with a reason
  $ breaker skip --reason "the vendor is down until Monday" --by Ada
  people.skip: 0 done; 13
  PERSON

force: End a phase against the evidence; asks for a confirmation word
  $ force --reason "shown on the device" --by Ada
  people.force: 0 done; 13
  PERSON
  --word WORD  OVERRIDE, if there is no terminal to ask for it

# work with agents

drive: Let an agent work through the phases until it is done or needs you
  $ drive -- claude -p
  drive.run: 0 the cycle is done, or the phase of --until has exited; 10 the budget is spent
  12 the circuit is open, or the agent is stuck; 13 a person has to answer, or not now; 130 interrupted
  --goal TEXT  what to build, for every prompt
  --until PHASE  end when this phase has exited; by default after the last one
  --iterations N int  budget: at most N starts of the agent
  --time SPAN  budget: total time, like 4h
  --resume  continue a drive that was interrupted or killed
  arguments -- COMMAND*  the agent's command; in it {prompt} is a file with the prompt, {text} the prompt

claim: Compare an agent's claim with the measurements, and decide whether it is done
  $ claim output.txt
  claim.run: 0 it is done; 10 it is not; 12; 13
  file FILE  the agent's output, or a transcript in JSON lines; - for standard input
  --threshold N int  number of required indicators, for this call
  --kind NAME  kind of task, with its own threshold in exit_gate.thresholds
  --by NAME  your name; the user's name by default
  --reason TEXT  why a person lowers the threshold for this claim

hook: Answer a coding agent that is about to stop, or to use a tool
  $ hook stop --agent claude
  hook.run: 0 answered (for some agents 2 means continue)
  event stop|pre-tool  what the agent is about to do
  --agent CLIENT  which agent; by default recognized by its event

agent prompt: Print the rules of a phase for an agent, and its status block
  $ agent prompt --phase green
  agent.prompt: 0 done
  --phase NAME  which phase; by default the current or the first one
  --style exit|prp|doyaken|ralph default=exit  form of the status block

agent uninstall: Remove the hooks that init wrote for coding agents
  $ agent uninstall --agent claude
  agent.uninstall: 0 done; 13
  --agent CLIENT+  only for these agents; by default for all
  --dry-run  print the changes without writing them

# verify tasks, pipelines, CI

verify start: Take tasks from a file, or start an attempt; by default of the next task
  $ verify start --task-file tasks.xml
  verify.start: STEP
  --task-file FILE  tasks as XML or YAML (phase-gate workflow schema task), or a PLAN.md with them
  --untimed  no time limit for executor and reviewer
  --by NAME  the worker that takes the task

verify next: Take the next free task for a worker, and start an attempt
  $ verify next --by worker-1
  verify.next_task: STEP
  --by NAME  the worker that takes it; the user's name by default

verify executor: Step 1: hand in the executor's report
  $ verify executor report.yaml --by Ada
  verify.executor: STEP
  file FILE  the report as YAML (phase-gate workflow schema executor-result); - for stdin
  --by NAME  who executed it; the user's name by default

verify run: Step 2: run the task's verify command
  $ verify run
  verify.run: STEP

verify review: Step 3: give the reviewer's verdict
  $ verify review verdict.yaml --by Grace
  verify.review: STEP
  file FILE  the verdict as YAML (phase-gate workflow schema verdict); - for stdin
  --by NAME  the reviewer; must not be the executor

verify commit: Commit only the files of an approved task
  $ verify commit
  verify.commit: STEP

verify abandon: End an attempt on purpose, with a reason
  $ verify abandon --reason "the task is obsolete"
  verify.abandon: STEP
  --reason TEXT  why, in a sentence
  --by NAME  who ends it; the user's name by default

verify show: Print the instructions of the executor, or the evidence for the reviewer
  $ verify show
  verify.show: STEP

verify status: Show the status of a task, or of all tasks with their failures
  $ verify status
  verify.status: STEP

verify resume: Continue after a halt, or on the same files, with a reason
  $ verify resume --reason "the server is back" --by Ada
  verify.resume: STEP
  --wave NAME  the halted wave; without it and --task, the tasks without a wave
  PERSON

verify skip: Complete a task without verification, with a kind and a reason
  $ verify skip --task fare --kind unavailable --reason "no device here" --by Ada
  verify.skip: STEP
  --kind KIND  unavailable, false-negative or time-pressure (user risk)
  PERSON

verify force: Complete a task against the evidence; asks for a confirmation word
  $ verify force --task fare --reason "shown on the device" --by Ada
  verify.force: STEP
  PERSON
  --word WORD  OVERRIDE, if there is no terminal to ask for it

pipeline vote: Vote in a consensus phase, or show the votes
  $ pipeline vote vote.yaml --by Ada
  pipeline.vote: 0 the vote counts; 10 no consensus yet; 13
  files FILE*  votes as YAML, one per reviewer (phase-gate workflow schema vote); - for stdin
  --by NAME  who votes

pipeline request: Make, list and decide on change requests
  $ pipeline request new --type scope --title "refunds are wanted, too"
  pipeline.request: 0 done; 13
  action new|list|approve|reject  what to do
  id [ID]  which one to decide on, like CR-1
  --type scope|architecture|dependency|config|requirement  what has to change
  --title TEXT  what has to change, in a sentence
  --blocking  close every gate until it is decided
  --reason TEXT default=  the reason for the decision
  --by NAME  your name; the user's name by default

pipeline recover: Show or start the recovery, or continue a pipeline that is stuck
  $ pipeline recover status
  pipeline.recover: 0 there is nothing to recover; 10; 12 the work is stuck; 13
  action [status|start|resume] default=status  show it, start it, or continue if stuck
  --reason TEXT default=  why, in a sentence
  --by NAME  who decides

ci combine: Combine the records of shards into one run
  $ ci combine shards --report verdict.md
  ci.combine: 0 the gate is open; 10; 12 the breaker is open; 13
  folder [DIR]  folder with the records, at any depth; by default phase-gate-shards in the root
  --exit gate1|dual  what 0 means: Gate 1 (default), or both gates
  --exit-signal REASON  give the exit signal 'done' for this run
  --report FILE repeated  write the verdict to FILE (.json, .md, .html, .env); may be repeated

# set up and maintain

init: Write a commented phase-gate.yaml, or install hooks for coding agents
  $ init --agent claude codex --dry-run
  agent.init: 0 done; 13
  --dry-run  print the changes without writing them
  --agent CLIENT+  add hooks to the settings of these agents instead
  --program COMMAND  the command that agents call, with --agent; phase-gate by default

doctor: Check the installation
  $ doctor
  doctor.doctor: 0 everything works; 1 a check failed
  --program COMMAND default=phase-gate  the command that agents call, as with init (default: phase-gate)

audit: Verify every line of the ledger; repair a damaged one
  $ audit --repair
  story.run_audit: 0 the ledger is intact, or is now; 11 it is not; 13
  --repair  keep a copy and continue after the last good line
  --accept-rollback  accept a folder or a store that was restored
  --reason TEXT  why, with --accept-rollback
  --by NAME  who, with --accept-rollback

store status: Show the store of the tasks, and whether this machine is up to date
  $ store status
  store.run_store_status: 0 the store answers; 11 it does not

store init: Set up a store, and show what others will be able to read
  $ store init git:origin#shop
  store.run_store_init: 0 done; 13
  store [STORE]  its address; by default that in PHASE_GATE_STORE
  --writer USER repeated  a database user who may append; may be repeated

workflow check: Check workflow files and report the first mistake in each
  $ workflow check pipeline
  workflow.check: 0 no mistakes; 2 mistakes, or an invalid command line
  files FILE*  a workflow file, or the name of a shipped workflow; the project's own by default

workflow schema: Print the JSON Schema of a file format
  $ workflow schema workflow
  workflow.schema: 0 done
  name [NAME]  which schema (evaluation by default)

completion: Print the completion script of a shell
  $ completion bash
  _help.completion: 0 done
  shell bash|zsh|fish  one of: bash, zsh, fish
"""


class Command(Value):
    summary: str
    #: Without `phase-gate`.
    example: str
    #: File and function.
    run: str
    #: Exit codes, in addition to those of every command.
    codes: Mapping[int, str]
    arguments: tuple[str, ...]


def _written_out(text: str) -> str:
    for word, meaning in _ABBREVIATIONS.items():
        text = text.replace(word, meaning)
    return text


def _read_command(block: str) -> tuple[str, Command]:
    head, example, function, *rows = map(str.strip, block.splitlines())
    name, _, summary = head.partition(": ")
    run, _, codes = function.partition(": ")
    while rows and rows[0][0].isdigit():
        codes += f"; {rows.pop(0)}"
    meanings = {
        int(code): words or _USUAL[code] for code, _, words in (each.partition(" ") for each in codes.split("; "))
    }
    example = example.removeprefix("$ ")
    return name, Command(summary=summary, example=example, run=run, codes=meanings, arguments=tuple(rows))


def _read_group(text: str) -> tuple[str, dict[str, Command]]:
    title, *blocks = text.strip().split("\n\n")
    return title, dict(map(_read_command, blocks))


#: By group and name, in the order in which help lists them.
GROUPS = dict(map(_read_group, _written_out(_TEXT).split("\n# ")[1:]))
#: By name.
COMMANDS = {name: each for group in GROUPS.values() for name, each in group.items()}
