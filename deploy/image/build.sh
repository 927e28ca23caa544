#!/bin/sh
# Makes the folder of the container image: the files that `npm pack` packs, and their dependencies at run time.
# The Dockerfile and test/cluster/image.test.ts run this, in a clone in which `npm ci` and `npm run build` have run.
# Usage: deploy/image/build.sh <new folder>
set -eu
mkdir "$1"
tree=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."

tarball=$(npm pack --silent --ignore-scripts --pack-destination "$tree")
tar -xzf "$tree/$tarball" -C "$tree" --strip-components=1
rm "$tree/$tarball"
chmod +x "$tree/dist/bin.js"

# Hard links take no time and no space, where both are on one file system.
# The dot copies the target of a link: otherwise the commands below would prune a linked node_modules.
mkdir "$tree/node_modules"
cp -al node_modules/. "$tree/node_modules" 2>/dev/null || {
  rm -rf "$tree/node_modules"
  mkdir "$tree/node_modules"
  cp -a node_modules/. "$tree/node_modules"
}
# Caches of tools, and npm's list of installed packages, which npm writes and which must not be a link. Not the commands:
# without its command npm takes a package for broken, and fetches it again.
find "$tree/node_modules" -mindepth 1 -maxdepth 1 -name '.*' ! -name .bin -exec rm -rf {} +
cp package-lock.json .npmrc "$tree"
# "Optional" are the peers of Prisma's client: its own tools, and the compiler.
npm prune --prefix "$tree" --omit=dev --omit=optional --offline --ignore-scripts --no-audit --no-fund --silent
node deploy/image/prune.mjs "$tree"
