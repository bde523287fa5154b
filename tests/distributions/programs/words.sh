# Read by the other programs: kernel arguments as lists of words.
# shellcheck shell=sh disable=SC2046,SC2086  # Splitting is what makes them lists, with one blank between two.

# without WORDS REMOVE: WORDS less those that REMOVE names; "a" also takes "a=…" away, "a=1" only itself.
without() {
  kept=
  for word in $1; do
    gone=
    for name in $2; do
      case $name in
        *=*) [ "$word" = "$name" ] && gone=1 ;;
        *) [ "${word%%=*}" = "$name" ] && gone=1 ;;
      esac
    done
    [ "$gone" ] || kept="$kept $word"
  done
  echo $kept
}

# with WORDS ADD: WORDS with those of ADD at the end, instead of any other value of theirs.
with() {
  names=
  for word in $2; do names="$names ${word%%=*}"; done
  echo $(without "$1" "$names") $2
}

# has_word WORDS WORD. Its names are its own: a shell's functions share all others.
has_word() {
  for has_word_one in $1; do
    [ "$has_word_one" = "$2" ] && return 0
  done
  return 1
}

# replace_line FILE KEY TEXT: the line that begins with KEY becomes KEY and TEXT.
replace_line() {
  awk -v key="$2" -v text="$3" 'index($0, key) == 1 { print key text; next } { print }' "$1" > "$1.tmp"
  cat "$1.tmp" > "$1"
  rm "$1.tmp"
}
