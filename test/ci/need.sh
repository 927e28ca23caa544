#!/usr/bin/env bash
# need.sh <name> <url> <default port> <Debian service>: starts the service where nothing answers at the URL. Ends with 1
# where nothing answers after 30 s either.
set -euo pipefail
name=$1 url=$2 port=$3 service=$4
answers() { node "$(dirname "${BASH_SOURCE[0]}")/answers.mjs" "$url" "$port"; }

answers && exit
if command -v service >/dev/null; then service "$service" start >/dev/null 2>&1 || true; fi
for _ in $(seq 30); do
  answers && exit
  sleep 1
done
echo "$name does not answer at ${url##*@}: start it, or set ${name^^}_URL" >&2
exit 1
