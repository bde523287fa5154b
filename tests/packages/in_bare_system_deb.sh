#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Inside a bare system: installs the .debs as they are, without headroom-train, looks at what is there then, and removes them.
# shellcheck source=tests/packages/in_bare_system.sh
. /packages/in_bare_system.sh
files > /tmp/before
rm -f headroom-train_*.deb  # It needs libtorch, of one release.
debs=(*.deb)
dpkg --install "${debs[@]}" >/dev/null
first_check
commands_answer
for part in allocator averager; do
  expect test -f /usr/include/headroom/$part.h -a -e /usr/lib/x86_64-linux-gnu/libheadroom_$part.so
  expect grep -q "libheadroom_$part.so.1" <(ldconfig -p)
done

# Some bare systems leave pages and documents out (/etc/dpkg/dpkg.cfg.d): those are no fault of the package.
mapfile -t pages < <(dpkg --listfiles headroom | grep '/man1/headroom.*\.1\.gz$')
[[ ${#pages[@]} -ge 12 ]] || { echo "expected a page for each command, found ${#pages[@]}" >&2; exit 1; }
for page in "${pages[@]}"; do
  page=${page##*/}
  expect man --pager=cat "${page%.1.gz}"
done
man --pager=cat headroom-check | grep -q 'headroom-check' || { echo "expected the page headroom-check" >&2; exit 1; }
echo "pages that open: ${#pages[@]}"

completed=$(bash -c '. /usr/share/bash-completion/bash_completion; _load_comp headroom 2>/dev/null || __load_completion headroom
  COMP_WORDS=(headroom chec) COMP_CWORD=1 COMP_LINE="headroom chec" COMP_POINT=13
  $(complete -p headroom | sed "s/.*-F \([^ ]*\).*/\1/") headroom chec headroom; echo "${COMPREPLY[*]}"')
[[ $completed =~ ^check\ *$ ]] || { echo "bash: expected check of chec, found: $completed" >&2; exit 1; }
completed=$(timeout 60 zsh -f completed.zsh "headroom chec")
[[ $completed == "headroom check " ]] || { echo "zsh: expected headroom check of headroom chec, found: $completed" >&2; exit 1; }
completed=$(fish -c 'complete -C "headroom chec"')
[[ $completed == check$'\t'* ]] || { echo "fish: expected check of chec, found: $completed" >&2; exit 1; }
echo "bash, zsh and fish complete"

expect python3 examples.py python.md
dpkg --purge "${debs[@]%%_*}" >/dev/null
files > /tmp/after
diff /tmp/before /tmp/after || { echo "expected nothing after purging but what was there before" >&2; exit 1; }
