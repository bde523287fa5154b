# SPDX-License-Identifier: Apache-2.0
# The text of undo.sh (undo_script.h). Lines that end in "# @name@" are examples: the program puts the
# lines of one change in their place, or none. The words for what a path holds: absent, link:TARGET,
# file:SHA-256 or other.
# shellcheck shell=sh

# Takes back @id@ (@made@).
# sh undo.sh                   on the machine itself
# sh undo.sh /mnt              from a rescue system that has its root file system at /mnt
# sh undo.sh --force [ROOT]    also over what somebody edited since
set -u
unset CDPATH
umask 022
say() { printf '%s\n' "$1"; }
complain() { printf '%s\n' "$1" >&2; }
stop() { complain "$1"; exit 1; }
usage() { complain 'usage: sh undo.sh [--force] [ROOT]'; exit 2; }
force='' root='' given=''
for word in "$@"; do
  case $word in
    --force) force=yes ;;
    -*) usage ;;
    *) [ -z "$given" ] || usage; root=$word given=yes ;;
  esac
done
if [ -n "$root" ]; then
  root=$(cd "$root" && pwd) || stop 'expected the folder that the root file system is mounted at'
  root=${root%/}
fi
here=$(cd "$(dirname "$0")" && pwd) || stop "expected originals/ beside $0"
# Below this folder every path is looked for, whatever becomes of those above it.
cd "$root/" || stop "expected the folder $root"
. base/shell_careful.sh  # @careful@
sums=yes
if ! command -v sha256sum >/dev/null 2>&1; then
  [ -n "$force" ] || stop 'expected sha256sum, found none: files that were edited since cannot be told from
what the change left; nothing was done. To put every original back all the same: --force'
  sums=''
fi

each() {
  "$1" authored /etc/a.conf 000 absent link:b  # @paths@
  :
}

state() {
  if [ -L "$1" ]; then printf 'link:%s' "$(readlink "$1")"
  elif [ -f "$1" ] && [ -z "$sums" ]; then printf file:unknown
  elif [ -f "$1" ]; then sum=$(sha256sum <"$1") && printf 'file:%s' "${sum%% *}"
  elif [ -e "$1" ]; then printf other
  else printf absent
  fi
}
. base/shell_follow.sh  # @follow@
# KIND PATH ORIGINAL BEFORE AFTER...: AFTER is what the change left there, or any.
judge() {
  kind=$1 path=$root$2 original=$here/originals/$3 before=$4 verdict=left
  follow "${2%/*}" || return 0
  at=$led/${2##*/}
  shift 4
  found=$(state "$at")
  verdict=as_before
  [ "$found" != "$before" ] || return 0
  verdict=ours
  [ "$found" != file:unknown ] || return 0
  for after in "$@"; do
    case $after in any | "$found") return 0 ;; esac
  done
  verdict=edited
  [ "$kind" = authored ] || verdict=anew
  # Kernel packages remove the entries of their kernels.
  case $found$path in absent*/loader/entries/*) verdict=gone ;; esac
}
blocked='' edited='' left=''
check() {
  judge "$@"
  case $verdict in
    as_before | anew | gone) return 0 ;;
    left)
      left=yes
      complain "$path: left as it is; ${root}${led#.} is $whose's, who could lead root elsewhere"
      return 0 ;;
  esac
  if [ "$found" = other ]; then
    complain "$path: expected a file or a link, found a folder or a device"
    blocked=yes
  elif [ "$verdict" = edited ]; then
    complain "$path: expected it as the change left it, found it edited or removed since"
    edited=yes
  fi
  case $before in file:*) ;; *) return 0 ;; esac
  [ -f "$original" ] && [ "$sums" ] && [ "$(state "$original")" = "$before" ] && return 0
  [ -f "$original" ] && [ -z "$sums" ] && return 0
  complain "$original: expected the bytes that $path had, found none or others"
  blocked=yes
}
check_folder() {
  follow "${1%/}" || return 0
  [ -d "$led" ] && return 0
  complain "$root$1: expected this folder, found none; is its file system mounted?"
  edited=yes
}
each check
check_folder /etc/  # @folders@

[ -z "$blocked" ] || stop 'nothing was done; fix what is named above first'
[ -z "$edited" ] || [ -n "$force" ] || stop "nothing was done. To put the originals back over what \
is named above: sh $0 --force${root:+ $root}"
failed() { stop "$path could not be restored; fix that, then run this again: it continues"; }
# Complete beside the path first, under the name that headroom uses too.
put_back_file() {
  mkdir -p "${at%/*}" || failed
  if ! cp -a "$original" "$beside" 2>/dev/null; then
    # FAT keeps no owners, and cp -a fails for that alone.
    rm -f "$beside"
    cp "$original" "$beside" || failed
    say "$path: owner and mode could not be set (FAT has none)"
  fi
  [ -z "$sums" ] || [ "$(state "$beside")" = "$before" ] || failed
  # Into a folder that a link leads to is not where it belongs.
  [ ! -d "$at" ] || rm -f "$at" || failed
  mv -f "$beside" "$at" || failed
}
anew=''
restore() {
  judge "$@"
  [ "$verdict" != left ] || return 0
  beside=${at%/*}/.${at##*/}.headroom-new
  rm -f "$beside"
  case $verdict in
    as_before) return 0 ;;
    anew)
      anew=yes
      say "$path: rebuilt or removed since the change; it stays as it is now"
      return 0 ;;
    gone)
      say "$path: removed since the change, with its kernel; it stays removed"
      return 0 ;;
  esac
  case $before in
    absent) rm -f "$at" || failed ;;
    link:*) ln -sfn -- "${before#link:}" "$at" || failed ;;
    *) put_back_file ;;
  esac
}
# One that somebody put something into since stays.
drop_folder() {
  follow "${1%/*}" && rmdir "$led/${1##*/}" 2>/dev/null
}
# What an interrupted command may have made; it could be somebody else's as well.
compare() { [ ".$2" != "$at" ] || known=yes; }
named='' beside_them=''
look_for_more() {
  for seen in "$@"; do
    known=''
    at=${seen#"$root"}
    follow "${at%/*}" || continue
    at=$led/${at##*/}
    [ -e "$at" ] || continue
    case $named in *"<$at>"*) continue ;; esac
    # shellcheck disable=SC3013  # dash, bash and busybox have -nt, and it only adds to what is named.
    [ -z "$beside_them" ] || [ "$at" -nt "$here/originals" ] || continue
    each compare
    [ -z "$known" ] || continue
    named="$named<$at>"
    say "$seen: may be unfinished work of the interrupted change. Remove it if it is of no use"
  done
}
advise() {
  say "then, on the machine${root:+ (chroot $root, with /dev, /proc and /sys mounted there)}: $1"
}
each restore
drop_folder /etc/a  # @folders_made@
look_for_more "$root"/boot/*  # @half_done@
beside_them=yes  # @half_done@
look_for_more "$root"/boot/*  # @half_done@
sync
[ "$left" ] || say 'ID is undone'  # @taken_back@
[ -z "$anew" ] || advise update-grub  # @advice@
[ -z "$left" ] || stop "@id@ is undone, except for what is named above. headroom goes into such folders
safely; on the machine itself: sudo headroom undo @id@
(by hand: the old files are in $here/originals)"
