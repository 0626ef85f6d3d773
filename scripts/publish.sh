#!/usr/bin/env bash
# publish.sh TAG: add the pages of a release to the branch `gh-pages` of the remote, beside those of older ones.
set -euo pipefail
tag=$1
remote=$(git remote get-url origin)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if git ls-remote --exit-code --heads "$remote" gh-pages >/dev/null; then
  git clone --quiet --depth 1 --branch gh-pages "$remote" "$folder"
else
  git init --quiet --initial-branch gh-pages "$folder"
  git -C "$folder" remote add origin "$remote"
  # The forge serves the files as they are.
  touch "$folder/.nojekyll"
fi
tox -e docs -- --into "$folder" --version "${tag#v}"
cd "$folder"
git add --all
git -c user.name="Release" -c user.email="release@users.noreply.github.com" commit --quiet --message "Pages of $tag"
git push --quiet origin HEAD:gh-pages
