#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Inside a bare system: installs the wheel into an environment by pip, looks at what is there then, and removes it.
# shellcheck source=tests/packages/in_bare_system.sh
. /packages/in_bare_system.sh
python3 -m venv /environment
find /environment ! -name "*.pyc" ! -name __pycache__ | sort > /tmp/before
/environment/bin/pip install --quiet --no-index --no-deps --disable-pip-version-check headroom-*.whl
PATH=/environment/bin:$PATH
first_check
commands_answer
expect python3 examples.py python.md
python3 -c 'import headroom.allocator as a
try:
    a.install()
except a.AllocatorUnavailable as reason:
    assert "torch" in str(reason), reason
else:
    raise SystemExit("expected no PyTorch in a bare system")'
/environment/bin/pip uninstall --quiet --yes headroom
find /environment -type f ! -name "*.pyc" | sort > /tmp/after
left=$(comm -13 /tmp/before /tmp/after)
if [[ -n $left ]]; then echo "expected nothing after uninstalling, found: $left" >&2; exit 1; fi
