#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run inside a bare system, without a network, with the wheel in /packages: installs it into an environment by pip, and looks at what
# is there then.
set -euo pipefail
cd /packages
python3 -m venv /environment
/environment/bin/pip install --quiet --no-index --no-deps --disable-pip-version-check headroom-*.whl
PATH=/environment/bin:$PATH

status=0; start=$SECONDS
headroom check >check.txt || status=$?
[[ $status -le 1 && -s check.txt ]] || { cat check.txt; echo "headroom check ended with $status" >&2; exit 1; }
echo "headroom check: $((SECONDS - start)) s: $(head -1 check.txt)"

commands=$(headroom --help | sed -n '/ommands:$/,/^$/s/^  \([a-z-]\+\) .*/\1/p')
[[ $(wc -w <<< "$commands") -ge 12 ]] || { echo "expected commands in --help, found: $commands" >&2; exit 1; }
for command in $commands; do headroom "$command" --help >/dev/null; done
headroom --version
headroom run --allocator -- true

python3 /packages/examples.py /packages/python.md
/environment/bin/python -c 'import headroom.allocator as a
try:
    a.install()
except a.AllocatorUnavailable as reason:
    assert "torch" in str(reason), reason
else:
    raise SystemExit("expected no PyTorch in a bare system")'
/environment/bin/pip uninstall --quiet --yes headroom
# Folders stay, and what Python compiled there.
left=$(find /environment -type f -path "*headroom*" ! -name "*.pyc")
if [[ -n $left ]]; then echo "expected nothing after uninstalling, found: $left" >&2; exit 1; fi
