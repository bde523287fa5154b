#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A photo service on the processor, and headroom tune finds the workers, threads and batches with which it is fastest.
# Nothing on this machine is touched: everything happens in a folder of its own. It takes about a minute.
#
#   examples/photos/tune.sh FOLDER_WITH_THE_PROGRAMS [OPTION OF headroom tune …]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$(cd "$1" && pwd)
shift

folder=$(mktemp -d)
trap '"$folder/photos/service.sh" stop; rm -rf "$folder"' EXIT
cp -r "$here" "$folder/photos"
cd "$folder/photos"
export XDG_STATE_HOME=$folder/state

# A port that nobody has.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
sed -i "s/:3003/:$port/" SERVICE.toml
{ cat tune.conf && echo "port = $port"; } >photos.conf

title() { printf '\n== %s\n\n' "$*"; }
title "The service as it runs today"
./service.sh start
for _ in $(seq 100); do python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/ping')" 2>/dev/null && break; sleep 0.1; done
cat photos.conf

title "What would be tried"
"$bin/headroom" tune SERVICE.toml

title "headroom tune SERVICE.toml --apply"
"$bin/headroom" tune SERVICE.toml --apply "$@"

title "And the service now"
./service.sh status && echo "it runs, with:" && cat photos.conf
