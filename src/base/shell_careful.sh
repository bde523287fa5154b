# SPDX-License-Identifier: Apache-2.0
# Sets $careful: "yes" for root, else empty.
# shellcheck shell=sh disable=SC2034  # The scripts that hold this read $careful.

# Root goes only where nobody else can lead it; everybody else has their own rights to lose.
case $(id -u 2>/dev/null) in '' | 0) careful=yes ;; *) careful='' ;; esac
