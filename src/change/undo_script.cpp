// SPDX-License-Identifier: Apache-2.0
#include "change/undo_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell_follow.h"
#include "base/shell_quote.h"
#include "change/observe.h"
#include "machine/checksum.h"

namespace headroom::change {
namespace {

// What a path holds is one word in the script: absent, link:TARGET, file:SHA-256 or other.
constexpr auto arguments = R"sh(set -u
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
)sh";

constexpr auto summing = R"sh(sums=yes
if ! command -v sha256sum >/dev/null 2>&1; then
  [ -n "$force" ] || stop 'expected sha256sum, found none: what was edited since cannot be told from
what the change left; nothing was done. To put every original back all the same: --force'
  sums=''
fi
)sh";

constexpr auto telling = R"sh(
state() {
  if [ -L "$1" ]; then printf 'link:%s' "$(readlink "$1")"
  elif [ -f "$1" ] && [ -z "$sums" ]; then printf file:unknown
  elif [ -f "$1" ]; then sum=$(sha256sum <"$1") && printf 'file:%s' "${sum%% *}"
  elif [ -e "$1" ]; then printf other
  else printf absent
  fi
}
)sh";

constexpr auto looking =
    R"sh(# KIND PATH ORIGINAL BEFORE AFTER...: AFTER is what the change left there, or any.
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
)sh";

constexpr auto restoring = R"sh(
[ -z "$blocked" ] || stop 'nothing was done; what is named above has to be mended first'
[ -z "$edited" ] || [ -n "$force" ] || stop "nothing was done. To put the originals back over what \
is named above: sh $0 --force${root:+ $root}"
failed() { stop "$path could not be put back; once that is mended, run this again: it goes on"; }
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
      say "$path: made anew or removed since the change; it stays as it is now"
      return 0 ;;
    gone)
      say "$path: removed since the change, with its kernel; it stays away"
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
    [ -z "$beside_them" ] || [ "$at" -nt "$here/originals" ] || continue
    each compare
    [ -z "$known" ] || continue
    named="$named<$at>"
    say "$seen: perhaps half-done work of the interrupted change; look at it, and remove it if so"
  done
}
advise() {
  say "then, on the machine${root:+ (chroot $root, with /dev, /proc and /sys mounted there)}: $1"
}
)sh";

// The file that a step edits, as its path is written there; nullptr: it edits none.
const plan::FileEdit* file_edit(const plan::Record& record, std::size_t step) {
  if (step >= step_count(record.change)) return nullptr;
  return std::get_if<plan::FileEdit>(&step_at(record.change, step).action);
}

std::string file_state(std::string_view checksum) {
  return fmt::format("file:{}", checksum);
}

std::string to_state(const Sight& sight) {
  if (!sight.entry) return "absent";
  if (sight.entry->kind == EntryKind::link) return "link:" + sight.entry->target;
  return sight.entry->kind == EntryKind::file ? file_state(sight.checksum) : "other";
}

// What the edit that was under way, if one was, means to leave at this path.
std::optional<std::string> meant_state(const plan::Record& record, const plan::Touched& touched) {
  if (record.steps_done >= step_count(record.change)) return std::nullopt;
  const plan::Step& step = step_at(record.change, record.steps_done);
  if (const auto* link = std::get_if<plan::LinkEdit>(&step.action)) {
    if (link->path != touched.path) return std::nullopt;
    return link->after ? "link:" + *link->after : "absent";
  }
  const auto* edit = std::get_if<plan::FileEdit>(&step.action);
  if (edit == nullptr) return std::nullopt;
  // Where links lead to it, the path is another one than the edit's.
  const auto* own = file_edit(record, touched.step);
  if (edit->path != touched.path && (own == nullptr || own->path != edit->path))
    return std::nullopt;
  return edit->after ? file_state(machine::sha256(*edit->after)) : "absent";
}

std::vector<std::string> states_of_ours(const plan::Record& record, const plan::Touched& touched) {
  std::vector<std::string> states;
  if (touched.done) states.push_back(to_state(sight_after(touched)));
  if (record.state == plan::State::undone) return states;
  if (record.running && !touched.done && touched.step == *record.running) return {"any"};
  auto meant = meant_state(record, touched);
  if (meant) states.push_back(*std::move(meant));
  return states;
}

// each() hands every path, the last one first, to the function that it is given.
std::string each(const plan::Record& record) {
  std::string lines = "\neach() {\n";
  for (auto touched = record.touched.rbegin(); touched != record.touched.rend(); ++touched) {
    const std::string before = to_state(sight_before(*touched));
    lines += fmt::format("  \"$1\" {} {} {} {} {}\n", touched->generated ? "generated" : "authored",
                         shell_quote(touched->path), shell_quote(touched->original),
                         shell_quote(before), shell_line(states_of_ours(record, *touched)));
  }
  return lines + "  :\n}\n";
}

// A folder that was there before and is not now: most likely its file system is not mounted.
std::string folder_checks(const plan::Record& record) {
  std::vector<std::string> known = record.folders_made;
  std::string lines;
  for (const plan::Touched& touched : record.touched) {
    const std::string folder = touched.path.substr(0, touched.path.rfind('/'));
    if (touched.generated || std::find(known.begin(), known.end(), folder) != known.end()) continue;
    known.push_back(folder);
    lines += fmt::format("check_folder {}\n", shell_quote(folder + "/"));
  }
  return lines;
}

// The pattern with its stars left to the shell.
std::string pattern_word(std::string_view pattern) {
  std::string word = "\"$root\"";
  for (;;) {
    const std::size_t star = pattern.find('*');
    const std::string_view plain = pattern.substr(0, star);
    if (!plain.empty()) word += shell_quote(plain);
    if (star == std::string_view::npos) return word;
    word += '*';
    pattern.remove_prefix(star + 1);
  }
}

std::string look_for_more(const plan::Record& record) {
  if (!record.running || record.state == plan::State::undone) return "";
  const plan::Step& step = step_at(record.change, *record.running);
  const auto* command = std::get_if<plan::Command>(&step.action);
  if (command == nullptr) return "";
  std::string words;
  std::string words_beside;
  for (const auto* patterns : {&command->edits, &command->generates}) {
    for (const std::string& pattern : *patterns) {
      words += " " + pattern_word(pattern);
      words_beside += " " + pattern_word(pattern) + "*";
    }
  }
  if (words.empty()) return "";
  // "grub.cfg.new": what programs write to first.
  return fmt::format("look_for_more{}\nbeside_them=yes\nlook_for_more{}\n", words, words_beside);
}

// Each once: those with effects outside of files, and where something was made anew those that
// make it.
std::string advice(const plan::Record& record) {
  const std::size_t begun = record.running ? *record.running + 1 : record.steps_done;
  std::vector<std::string> always;
  std::vector<std::string> if_anew;
  for (std::size_t i = 0; i < begun; ++i) {
    const auto* command = std::get_if<plan::Command>(&step_at(record.change, i).action);
    if (command == nullptr || command->undo.empty()) continue;
    if (command->undo_run == plan::UndoRun::never) continue;
    auto& list = command->undo_run == plan::UndoRun::always ? always : if_anew;
    const std::string words = shell_line(command->undo);
    if (std::find(list.begin(), list.end(), words) == list.end()) list.push_back(words);
  }
  std::string lines;
  for (const std::string& words : if_anew) {
    if (std::find(always.begin(), always.end(), words) != always.end()) continue;
    lines += fmt::format("[ -z \"$anew\" ] || advise {}\n", shell_quote(words));
  }
  for (const std::string& words : always) lines += fmt::format("advise {}\n", shell_quote(words));
  return lines;
}

// headroom holds folders open and so goes safely where a shell cannot.
std::string ending(const plan::Record& record) {
  return fmt::format(
      "[ -z \"$left\" ] || stop \"{0} is taken back, but for what is named above. headroom goes "
      "into such folders\nsafely; on the machine itself: sudo headroom undo {0}\n(by hand: what "
      "was there before is in $here/originals)\"\n",
      record.id);
}

}  // namespace

std::string undo_script(const plan::Record& record) {
  std::string script = fmt::format(
      "#!/bin/sh\n"
      "# Takes back {} ({}).\n"
      "# sh undo.sh                   on the machine itself\n"
      "# sh undo.sh /mnt              from a rescue system that has its root file system at /mnt\n"
      "# sh undo.sh --force [ROOT]    also over what somebody edited since\n",
      record.id, record.made);
  script += fmt::format("{}{}{}", arguments, shell_careful, summing) + each(record);
  script += fmt::format("{}{}{}each check\n", telling, shell_follow, looking);
  script += folder_checks(record) + restoring + "each restore\n";
  for (auto folder = record.folders_made.rbegin(); folder != record.folders_made.rend(); ++folder) {
    script += fmt::format("drop_folder {}\n", shell_quote(*folder));
  }
  script += look_for_more(record) + "sync\n";
  script += fmt::format("[ \"$left\" ] || say {}\n", shell_quote(record.id + " is taken back"));
  return script + advice(record) + ending(record);
}

}  // namespace headroom::change
