# SPDX-License-Identifier: Apache-2.0
# is_safe FOLDER and follow PATH, POSIX sh under `set -u`. The working folder has to be the root that
# paths begin at and links stay in, $root its name ("" for /) and $careful be set; stop MESSAGE has to
# end the script.
# shellcheck shell=sh disable=SC2034,SC2154  # The scripts that hold this read $whose and set $root.

# Whether nobody else can put anything into this folder; $whose: who can.
is_safe() {
  [ "$careful" ] && [ -d "$1" ] || return 0
  set -f
  # shellcheck disable=SC2046  # The fields of the line are wanted one by one.
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
