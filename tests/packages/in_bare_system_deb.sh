#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run inside a bare system, without a network, with the packages in /packages: installs them as they are, and looks at what is there
# then.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
cd /packages
dpkg --install headroom_*.deb libheadroom-allocator1_*.deb libheadroom-allocator-dev_*.deb python3-headroom_*.deb >/dev/null

# An error if what stands on the right is not there.
expect() { "$@" >/dev/null || { echo "expected: $*" >&2; exit 1; }; }

status=0; start=$SECONDS
headroom check >check.txt || status=$?
[[ $status -le 1 && -s check.txt ]] || { cat check.txt; echo "headroom check ended with $status" >&2; exit 1; }
echo "headroom check: $((SECONDS - start)) s: $(head -1 check.txt)"

# Everything that --help names.
commands=$(headroom --help | sed -n '/ommands:$/,/^$/s/^  \([a-z-]\+\) .*/\1/p')
[[ $(wc -w <<< "$commands") -ge 12 ]] || { echo "expected commands in --help, found: $commands" >&2; exit 1; }
for command in $commands; do expect headroom "$command" --help; done
expect headroom --version

# What `run --allocator` puts into a program is found from the program's own folder.
expect headroom run --allocator -- true
expect test -f /usr/include/headroom/allocator.h -a -e /usr/lib/x86_64-linux-gnu/libheadroom_allocator.so
expect sh -c 'ldconfig -p | grep -q libheadroom_allocator.so.1'

# dpkg leaves pages and documents out where a bare system says so (/etc/dpkg/dpkg.cfg.d).
dpkg --listfiles headroom > files.txt
pages=$(grep -c '/man1/headroom.*\.1\.gz$' files.txt || true)
if [[ $pages -eq 0 ]]; then
  echo "this package has no man pages"
else
  for page in headroom headroom-check; do expect man --where "$page"; done
  expect man --pager=cat headroom-check
fi
if grep -q '/bash-completion/completions/headroom$' files.txt; then
  bash -c '. /usr/share/bash-completion/bash_completion; . /usr/share/bash-completion/completions/headroom
    COMP_WORDS=(headroom che) COMP_CWORD=1 COMP_LINE="headroom che" COMP_POINT=12
    $(complete -p headroom | sed "s/.*-F \([^ ]*\).*/\1/") headroom che headroom
    [[ " ${COMPREPLY[*]} " == *" check "* ]]' || { echo "expected check as a completion of che" >&2; exit 1; }
else
  echo "this package has no completion"
fi

python3 /packages/examples.py /packages/python.md
dpkg --purge python3-headroom libheadroom-allocator-dev headroom libheadroom-allocator1 >/dev/null
if command -v headroom; then echo "expected nothing after purging" >&2; exit 1; fi
