#!/usr/bin/env bash
# programs.sh: installs what some tests of the full suite use. What does not come is named, and its tests are skipped.
# Ends with 1 where npm refuses packages: their versions are in this repository, so it has a fault.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Whether any of these programs is here, also where only root looks.
has() {
  for program in "$@"; do
    if PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v "$program" >/dev/null; then return; fi
  done
  return 1
}

# get <Debian package> <program…>: ends with 1 where none of the programs is here and the package cannot be installed.
get() {
  local package=$1
  shift
  has "$@" && return
  if [ "$(id -u)" = 0 ] && has apt-get; then
    apt-get install -y --no-install-recommends "$package" >/dev/null 2>&1 ||
      { apt-get update && apt-get install -y --no-install-recommends "$package"; } >/dev/null 2>&1
  fi
  has "$@"
}

# want <Debian package> <program…>
want() {
  get "$@" || echo "$1 is not here and could not be installed: the tests that need it are skipped" >&2
}

missing=0
# packages <folder>: installs those of its lock file.
packages() {
  npm ci --prefix "$1" --ignore-scripts --loglevel=error && return
  echo "the packages of $1 could not be installed: the tests that need them are skipped" >&2
  missing=1
}

want chromium "${CHROMIUM:-chromium}" chromium chromium-browser google-chrome-stable google-chrome
# The tests run in Chromium itself without it, for a quarter more of the processor.
get chromium-headless-shell "${CHROMIUM:-chromium-headless-shell}" || true
want nginx "${NGINX:-nginx}" nginx
want haproxy "${HAPROXY:-haproxy}" haproxy
want pgbouncer "${PGBOUNCER:-pgbouncer}" pgbouncer
packages examples
packages examples/nextjs
packages examples/nuxt
packages test/ci/react-18
test/ci/need.sh database "${DATABASE_URL:-postgres://postgres@127.0.0.1:5432/postgres}" 5432 postgresql
test/ci/need.sh redis "${REDIS_URL:-redis://127.0.0.1:6379}" 6379 redis-server
exit "$missing"
