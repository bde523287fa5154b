# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the scripts beside it share, which run inside a bare system, without a network, with the packages in /packages.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
cd /packages

# An error if what stands on the right fails.
expect() { "$@" >/dev/null || { echo "expected: $*" >&2; exit 1; }; }

# Every file of the system but those of dpkg, of caches and of this test.
files() { find / -xdev \( -path /packages -o -path /proc -o -path /dev -o -path /tmp -o -path /var/lib/dpkg -o -path /var/log \
    -o -path /var/cache -o -path /root \) -prune -o ! -path /etc/ld.so.cache -print | sort; }

# The first command, by the clock.
first_check() {
  local status=0 start=$EPOCHREALTIME end seconds
  headroom check >/tmp/check.txt || status=$?
  end=$EPOCHREALTIME
  seconds=$(( (${end/[.,]/} - ${start/[.,]/}) / 1000 ))
  [[ $status -le 1 && -s /tmp/check.txt ]] || { cat /tmp/check.txt; echo "headroom check ended with $status" >&2; exit 1; }
  echo "headroom check: $seconds ms: $(head -1 /tmp/check.txt)"
  [[ $seconds -lt 60000 ]] || { echo "expected an answer within a minute" >&2; exit 1; }
}

# Everything that --help names is there.
commands_answer() {
  local commands command
  commands=$(headroom --help | sed -n '/ommands:$/,/^$/s/^  \([a-z-]\+\) .*/\1/p')
  [[ $(wc -w <<< "$commands") -ge 12 ]] || { echo "expected commands in --help, found: $commands" >&2; exit 1; }
  for command in $commands; do expect headroom "$command" --help; done
  expect headroom --version
  # What it puts into a program is found from its own folder.
  expect headroom run --allocator -- true
  echo "commands that answer: $(wc -w <<< "$commands")"
}
