// SPDX-License-Identifier: Apache-2.0
#include "change/undo_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fill_in.h"
#include "base/shell_follow.h"
#include "base/shell_quote.h"
#include "change/observe.h"
#include "machine/checksum.h"

namespace headroom::change {

// undo_script.sh beside this file, compiled in by cmake/Embed.cmake.
extern const std::string_view undo_script_sh;

namespace {

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

// Every path, the last one first, for the function that each() is given.
std::string paths(const plan::Record& record) {
  std::string lines;
  for (auto touched = record.touched.rbegin(); touched != record.touched.rend(); ++touched) {
    const std::string before = to_state(sight_before(*touched));
    lines += fmt::format("  \"$1\" {} {} {} {} {}\n", touched->generated ? "generated" : "authored",
                         shell_quote(touched->path), shell_quote(touched->original),
                         shell_quote(before), shell_line(states_of_ours(record, *touched)));
  }
  return lines;
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

std::string folders_made(const plan::Record& record) {
  std::string lines;
  for (auto folder = record.folders_made.rbegin(); folder != record.folders_made.rend(); ++folder) {
    lines += fmt::format("drop_folder {}\n", shell_quote(*folder));
  }
  return lines;
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

std::string taken_back(const plan::Record& record) {
  return fmt::format("[ \"$left\" ] || say {}\n", shell_quote(record.id + " is undone"));
}

}  // namespace

std::string undo_script(const plan::Record& record) {
  return "#!/bin/sh\n" + fill_in(undo_script_sh, {{"id", record.id},
                                                  {"made", record.made},
                                                  {"careful", std::string(shell_careful_sh)},
                                                  {"paths", paths(record)},
                                                  {"follow", std::string(shell_follow_sh)},
                                                  {"folders", folder_checks(record)},
                                                  {"folders_made", folders_made(record)},
                                                  {"half_done", look_for_more(record)},
                                                  {"taken_back", taken_back(record)},
                                                  {"advice", advice(record)}});
}

}  // namespace headroom::change
