# SPDX-License-Identifier: Apache-2.0
# The text of what `headroom fix ID --script` prints (change_script.h), below its title. Lines that end
# in "# @name@" are examples: the program puts the lines of one change in their place, or none.
# shellcheck shell=sh

set -eu
safe_way='sudo headroom fix ttm-cap --apply'  # @safe_way@

root=${ROOT:-}
[ -z "$root" ] || export ROOT
fail() { printf '%s\n' "$0: $*" >&2; exit 1; }
stop() { fail "$*"; }
say() { printf '\n%s\n' "$*"; }

. base/shell_careful.sh  # @careful@
. base/shell_follow.sh  # @follow@

if [ "$careful" ]; then
  unset CDPATH
  root=$(cd "$root/" && pwd) || fail 'expected the folder that the root file system is mounted at'
  root=${root%/}
  ROOT=$root
  cd "$root/"
fi
so_far='nothing was done'
# $at: where this path is. For root that is below the root and without links, also where its last
# part is one.
place() {
  at=$1
  [ "$careful" ] || return 0
  follow "${1#"$root"}" || refuse "$1"
  at=$led
}
# The same of what the folder itself holds by this name: a link is not followed.
place_itself() {
  place "${1%/*}"
  at=$at/${1##*/}
}
refuse() {
  folder=$root${led#.}
  fail "$1: expected folders that only root can write to, found ${folder:-/}, which is $whose's,
who could lead root elsewhere; $so_far. headroom goes into such folders safely${root:+, on the machine itself}: $safe_way"
}
expect_safe() {
  for file in "$@"; do place "$file"; done
}
keep_copies() {
  so_far='what is said above was done'
  place "$backups"
  mkdir -p "$at"
}

# Of a mounted machine only its own programs are run, never this system's.
run() {
  printf '$ %s\n' "$*"
  if [ -z "$root" ]; then
    "$@"
    return
  fi
  for folder in usr/local/sbin usr/local/bin usr/sbin usr/bin sbin bin; do
    if [ -x "$root/$folder/$1" ]; then
      program=$root/$folder/$1
      shift
      "$program" "$@"
      return
    fi
  done
  fail "expected the program $1 in $root, found none"
}

# Keeps copies of files and links, owner, mode and labels included.
save() {
  for file in "$@"; do
    place_itself "$file"
    if [ -e "$at" ] || [ -L "$at" ]; then
      original=$at
      place_itself "$backups/${file#"$root"/}"
      mkdir -p "${at%/*}"
      [ -e "$at" ] || [ -L "$at" ] || cp -a "$original" "$at"
    fi
  done
}

# The file has to be what was read when this script was made; its text is on standard input.
expect_same() {
  place "$1"
  cmp -s "$at" - || fail "$1 changed since this script was made: make a new script"
}
expect_absent() {
  place_itself "$1"
  if [ -e "$at" ] || [ -L "$at" ]; then
    fail "$1 did not exist when this script was made: make a new script"
  fi
}
expect_link() {
  place_itself "$1"
  # shellcheck disable=SC2015  # What comes last ends the script.
  [ -L "$at" ] && [ "$(readlink "$at")" = "$2" ] ||
    fail "$1 is not the same link as when this script was made: make a new script"
}

# Standard input becomes the file, in one move; an existing one keeps its owner and mode.
put() {
  place "$1"
  mkdir -p "${at%/*}"
  if [ -L "$at" ]; then
    cat > "$at"
    return
  fi
  rm -f "$at.headroom-new"
  if [ -e "$at" ]; then
    cp -a "$at" "$at.headroom-new"
    cat > "$at.headroom-new"
  else
    cat > "$at.headroom-new"
    chmod "$2" "$at.headroom-new"
  fi
  mv -f "$at.headroom-new" "$at"
}
put_link() {
  place_itself "$2"
  mkdir -p "${at%/*}"
  ln -sfn "$1" "$at"
}
remove() {
  place_itself "$1"
  rm -f "$at"
}

expect_text() {
  text=$1
  shift
  for file in "$@"; do
    place "$file"
    grep -qF -e "$text" "$at" || fail "expected \"$text\" in $file, found none"
  done
}
expect_no_text() {
  text=$1
  shift
  for file in "$@"; do
    place "$file"
    if [ -e "$at" ] && grep -qF -e "$text" "$at"; then
      fail "expected no \"$text\" in $file, found it"
    fi
  done
}
expect_in_image() {
  for lister in lsinitramfs lsinitrd lsinitcpio; do
    if [ -z "$root" ] && command -v "$lister" > /dev/null 2>&1; then
      "$lister" "$1" | grep -qF -e "${2#/}" || fail "$1 does not contain $2"
      return
    fi
  done
  printf '%s\n' "Check that $1 contains $2. No program here can list its contents."
}

apply() {  # @parts@
  expect_safe "$backups" "$root"/etc/a.conf  # @parts@
  expect_same "$root"/etc/a.conf < /dev/null  # @parts@
  expect_absent "$root"/etc/b.conf  # @parts@
  expect_link "$root"/etc/c.conf a.conf  # @parts@
  keep_copies  # @parts@
  say 'Write the file'  # @parts@
  save "$root"/etc/a.conf  # @parts@
  put "$root"/etc/a.conf 0644 < /dev/null  # @parts@
  put_link a.conf "$root"/etc/c.conf  # @parts@
  remove "$root"/etc/b.conf  # @parts@
  run update-grub  # @parts@
  expect_text 'a=1' "$root"/etc/a.conf  # @parts@
  expect_no_text 'a=2' "$root"/etc/a.conf  # @parts@
  expect_in_image "$root"/boot/initrd.img /etc/a.conf  # @parts@
}  # @parts@
[ -n "$root" ] || [ "$(id -u)" = 0 ] || fail "run it as root: sudo sh $0"  # @root_only@
state=$root/var/lib  # @state@
backups=$state/headroom/by-hand/$(date -u +%Y%m%dT%H%M%SZ)-@fix@
umask 022
apply  # @start@
