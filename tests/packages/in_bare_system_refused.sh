#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Inside a system that is older than the packages allow: each way of installing says so, and leaves nothing that looks installed.
# shellcheck source=tests/packages/in_bare_system.sh
. /packages/in_bare_system.sh
if said=$(dpkg --install headroom_*.deb libheadroom-allocator1_*.deb 2>&1); then
  echo "expected dpkg to refuse" >&2; exit 1
fi
grep -q 'depends on libc6 (>= 2\.' <<< "$said" || { echo "expected the C library as the reason, found: $said" >&2; exit 1; }
dpkg --purge headroom libheadroom-allocator1 >/dev/null 2>&1
python3 -m venv /environment
if said=$(/environment/bin/pip install --no-index --no-deps --disable-pip-version-check headroom-*.whl 2>&1); then
  echo "expected pip to refuse" >&2; exit 1
fi
grep -q 'not a supported wheel on this platform' <<< "$said" || { echo "expected the platform as the reason, found: $said" >&2; exit 1; }
echo "dpkg and pip refuse"
