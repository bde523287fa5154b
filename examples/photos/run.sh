#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A photo service gets a new configuration, and headroom deploy finds out in seconds what is wrong with it and puts
# the old one back. Nothing on this machine is touched: everything happens in a folder of its own.
#
#   examples/photos/run.sh FOLDER_WITH_THE_PROGRAMS [CANDIDATE]
#
# CANDIDATE is a name of candidates/, "crash" if none is given: the incident that this is taken from.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$(cd "$1" && pwd)
candidate=${2:-crash}
[[ -e $here/candidates/$candidate.conf ]] || { echo "no candidate: $candidate; there are: $(ls "$here/candidates")"; exit 2; }

folder=$(mktemp -d)
trap '"$folder/photos/service.sh" stop; rm -rf "$folder"' EXIT
cp -r "$here" "$folder/photos"
cd "$folder/photos"
cp "candidates/$candidate.conf" new.conf
export XDG_STATE_HOME=$folder/state

# A port that nobody has.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
sed -i "s/:3003/:$port/" SERVICE.toml
for conf in photos.conf new.conf; do echo "port = $port" >>"$conf"; done

# The silent one can only be told where there is a GPU: a machine with one, as tests/support makes them.
root=()
if [[ $candidate == silently-cpu ]]; then
  [[ -x $bin/fake_machine ]] || { echo "this candidate needs fake_machine, which ./dev build makes"; exit 2; }
  "$bin/fake_machine" "$here/machine.toml" "$folder/machine" && "$bin/scratch_root" "$folder/machine"
  sed -i 's/^faster = .*/&\ngpu = true/' SERVICE.toml
  root=(--root "$folder/machine")
fi

title() { printf '\n== %s\n\n' "$*"; }
title "The service as it runs today"
./service.sh start
for _ in $(seq 100); do python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/ping')" 2>/dev/null && break; sleep 0.1; done
cat photos.conf

title "What would change"
"$bin/headroom" deploy SERVICE.toml ${root[@]+"${root[@]}"} || true

title "headroom deploy SERVICE.toml --apply"
"$bin/headroom" deploy SERVICE.toml --apply ${root[@]+"${root[@]}"} || [[ $? -eq 1 ]]

title "And the service now"
./service.sh status && echo "it runs, with:" && cat photos.conf
printf '\n== The post-mortem\n\n'
cat "$folder"/state/headroom/deploy/photos/*.md 2>/dev/null || echo "None was needed."
