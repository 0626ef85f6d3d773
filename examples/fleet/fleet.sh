# Five workers and a reviewer on three "machines": clones with a home of their own, in the folder `fleet`.
# sh fleet.sh [STORE]; the store is the git remote, unless another one is named, like postgresql://localhost/gate#greetings
set -eu
here=$PWD
PHASE_GATE_STORE=${1:-git:origin#greetings}
export PHASE_GATE_STORE

git init -q --bare -b main fleet/remote.git
git init -q -b main fleet/first
cp agent.py tasks.yaml fleet/first
cd fleet/first
printf '%s\n' '__pycache__/' 'result.yaml' 'verdict.yaml' > .gitignore
git add -A
git commit -q -m "the list"
git remote add origin "$here/fleet/remote.git"
git push -q origin main
phase-gate store init
phase-gate verify start --task-file tasks.yaml
cd "$here/fleet"

on() {  # on MACHINE WHO ROLE
    mkdir -p "$1/home"
    git clone -q remote.git "$1/$2"
    (cd "$1/$2" && HOME="$here/fleet/$1/home" XDG_STATE_HOME= python agent.py "$3" "$2") &
}
on alpha ann worker
on alpha bob worker
on beta cem worker
on beta dee worker
on gamma eve worker
on gamma rita reviewer
wait

cd first
git pull -q origin main
phase-gate status --all
