// SPDX-License-Identifier: Apache-2.0
#include "report/script_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"

namespace headroom::report {
namespace {

// Shells drop NUL, and a script with hidden characters could steer the terminal of its reader.
bool is_lines(std::string_view bytes) {
  if (!bytes.empty() && bytes.back() != '\n') return false;
  return printable_lines(bytes) == bytes;
}

// A line that does not occur in the text.
std::string end_mark(std::string_view text) {
  const auto lines = split_lines(text);
  std::string mark = "END";
  while (std::find(lines.begin(), lines.end(), mark) != lines.end()) mark += "_";
  return mark;
}

// printf(1), "%b": "\0ddd".
std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("\\0{:03o}", static_cast<unsigned char>(c));
  return text;
}

constexpr std::string_view functions = R"sh(
root=${ROOT:-}
[ -z "$root" ] || export ROOT
fail() { printf '%s\n' "$0: $*" >&2; exit 1; }
say() { printf '\n%s\n' "$*"; }

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
    if [ -e "$file" ] || [ -L "$file" ]; then
      copy=$backups/${file#"$root"/}
      mkdir -p "${copy%/*}"
      [ -e "$copy" ] || [ -L "$copy" ] || cp -a "$file" "$copy"
    fi
  done
}

# The file has to be what was read when this script was made; its text is on standard input.
expect_same() {
  cmp -s "$1" - || fail "$1 is not what it was when this script was made: make the script anew"
}
expect_absent() {
  if [ -e "$1" ] || [ -L "$1" ]; then
    fail "$1 is there, and was not when this script was made: make the script anew"
  fi
}
expect_link() {
  [ -L "$1" ] && [ "$(readlink "$1")" = "$2" ] ||
    fail "$1 is not the link that it was when this script was made: make the script anew"
}

# Standard input becomes the file, in one move; an existing one keeps its owner and mode.
put() {
  mkdir -p "${1%/*}"
  if [ -L "$1" ]; then
    cat > "$1"
    return
  fi
  if [ -e "$1" ]; then
    cp -a "$1" "$1.headroom-new"
    cat > "$1.headroom-new"
  else
    cat > "$1.headroom-new"
    chmod "$2" "$1.headroom-new"
  fi
  mv -f "$1.headroom-new" "$1"
}

expect_text() {
  text=$1
  shift
  for file in "$@"; do
    grep -qF -e "$text" "$file" || fail "expected \"$text\" in $file, found none"
  done
}
expect_no_text() {
  text=$1
  shift
  for file in "$@"; do
    if [ -e "$file" ] && grep -qF -e "$text" "$file"; then
      fail "expected no \"$text\" in $file, found it"
    fi
  done
}
expect_in_image() {
  for lister in lsinitramfs lsinitrd lsinitcpio; do
    if [ -z "$root" ] && command -v "$lister" > /dev/null 2>&1; then
      "$lister" "$1" | grep -qF -e "${2#/}" || fail "$1 does not hold $2"
      return
    fi
  done
  printf '%s\n' "See whether $1 holds $2: no program here lists what is in it."
}
)sh";

}  // namespace

std::string_view script_functions() {
  return functions;
}

std::string feed(std::string_view command, std::string_view bytes) {
  if (is_lines(bytes)) {
    const std::string mark = end_mark(bytes);
    return fmt::format("{} <<'{}'\n{}{}\n", command, mark, bytes, mark);
  }
  constexpr std::size_t piece = 512;
  std::string lines = "{\n";
  for (std::size_t i = 0; i < bytes.size(); i += piece) {
    lines += fmt::format("printf '%b' '{}'\n", escaped(bytes.substr(i, piece)));
  }
  return fmt::format("{}}} | {}\n", lines, command);
}

}  // namespace headroom::report
