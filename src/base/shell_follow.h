// SPDX-License-Identifier: Apache-2.0
// How scripts that root may run find their way below a root that others write to as well. A shell
// cannot hold folders open, so it goes only through those that root alone can write to: what it
// looked at then stays what it is.
#pragma once

#include <string_view>

namespace headroom {

// Lines that set $careful: "yes" for root, else empty.
inline constexpr std::string_view shell_careful =
    R"sh(# Root goes only where nobody else can lead it; everybody else has their own rights to lose.
case $(id -u 2>/dev/null) in '' | 0) careful=yes ;; *) careful='' ;; esac
)sh";

// is_safe FOLDER and follow PATH, POSIX sh under `set -eu`. The working folder has to be the root
// that paths begin at and links stay in, $root its name ("" for /) and $careful be set; stop
// MESSAGE has to end the script.
inline constexpr std::string_view shell_follow =
    R"sh(# Whether nobody else can put anything into this folder; $whose: who can.
is_safe() {
  [ "$careful" ] && [ -d "$1" ] || return 0
  set -f
  set -- $(ls -ldn "$1")
  set +f
  whose="user ${3-}"
  case ${1-} in
    ?????w* | ????????w*) whose='more than one user' ;;
    d*) [ "${3-}" != 0 ] || return 0 ;;
  esac
  return 1
}
# $led: where this folder's path leads, from the root and without links. It is followed part by
# part, so that nothing can be exchanged behind us; fails at the first folder that is not safe.
follow() {
  ahead=$1 led=. links=0
  is_safe . || return 1
  while [ "$ahead" ]; do
    part=${ahead%%/*}
    case $ahead in */*) ahead=${ahead#*/} ;; *) ahead='' ;; esac
    case $part in
      '' | .) continue ;;
      ..)
        led=${led%/*}
        continue ;;
    esac
    if [ -L "$led/$part" ]; then
      links=$((links + 1))
      [ "$links" -le 40 ] || stop "$root$1: expected a folder, found links that lead in a circle"
      target=$(readlink "$led/$part") || stop "$root$1: could not be followed"
      ahead=$target/$ahead
      case $target in /*) led=. ;; esac
    else
      led=$led/$part
      is_safe "$led" || return 1
    fi
  done
}
)sh";

}  // namespace headroom
