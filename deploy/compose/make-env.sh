#!/bin/sh
# Makes the `.env` of compose.yaml, with new secrets, in the current folder. Never overwrites one.
set -eu
if [ -e .env ]; then
  echo '.env is there already: it stays as it is' >&2
  exit 1
fi
umask 077
hex() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
sed -e "s|^POSTGRES_PASSWORD=\$|&$(hex)|" \
    -e "s|^ADMIN_JWT_SECRET=\$|&$(hex)|" \
    -e "s|^ENCRYPTION_KEY=\$|&$(head -c 32 /dev/urandom | base64)|" \
    "$(dirname "$0")/example.env" >.env
