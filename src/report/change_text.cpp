// SPDX-License-Identifier: Apache-2.0
#include "report/change_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell_quote.h"
#include "base/text.h"
#include "report/forecast_text.h"
#include "report/step_text.h"

namespace headroom::report {
namespace {

using plan::BootFallback;
using plan::Change;

bool needs_root(const Change& change) {
  const auto needs = [](const plan::Step& step) { return step.needs_root; };
  return std::any_of(change.steps.begin(), change.steps.end(), needs);
}

std::string heading(std::string_view title, std::string_view more, const Style& style) {
  return "\n" + style.bold(title) + (more.empty() ? "" : fmt::format("  ({})", more)) + "\n";
}

// By a person, where the change is nothing else.
std::string steps_title(const Change& change) {
  return is_by_hand(change) ? "What to do" : "What --apply does";
}

std::string steps_remark(const Change& change, std::size_t steps) {
  const std::string count = fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
  if (is_by_hand(change)) return count + ", by hand";
  return needs_root(change) ? count + ", as root" : count + ", as yourself";
}

// What confirm needs where no step of a change is headroom's own.
std::string record_text(const Change& change, const Style& style) {
  if (!change.needs_reboot) return "";
  return "\n" +
         fold(fmt::format("headroom confirm can compare the result only with a forecast that "
                          "was recorded before the reboot. {} records it and changes nothing "
                          "else.",
                          keep_whole(apply_command(change))),
              "  ", style.width);
}

// A person's own steps stand behind those of headroom, before which they are not needed.
std::string steps_text(const Change& change, const Style& style) {
  std::vector<const plan::Step*> ours, theirs;
  for (const plan::Step& step : change.steps) {
    (is_instruction(step) && !is_by_hand(change) ? theirs : ours).push_back(&step);
  }
  std::size_t number = 0;
  const auto list = [&](const std::vector<const plan::Step*>& steps) {
    std::string text;
    for (const plan::Step* step : steps) {
      text += (text.empty() ? "" : "\n") + step_text(*step, ++number, style);
    }
    return text;
  };
  std::string text =
      heading(steps_title(change), steps_remark(change, ours.size()), style) + list(ours);
  if (is_by_hand(change)) return text + record_text(change, style);
  text += "\n";
  text += fold(
      "Before anything is changed, headroom saves the bytes, owner, mode and labels of every file "
      "above. If a step fails, it undoes all of them.",
      "  ", style.width);
  if (!theirs.empty()) text += heading("Then by hand", "", style) + list(theirs);
  if (change.on_confirm.empty()) return text;
  text += heading("After the reboot", "if the limits are as predicted", style);
  for (const plan::Step& step : change.on_confirm)
    text += step_text(step, ++number, style, change.steps);
  return text;
}

std::string fallback_words(BootFallback fallback) {
  switch (fallback) {
    case BootFallback::not_needed:
      break;
    case BootFallback::next_boot:
      return "The new entry is chosen for one boot only. The old one stays the default until the "
             "limits have been checked.";
    case BootFallback::counted_boots:
      return "The boot loader tries the new entry a few times, and then goes back to the old one "
             "by itself.";
    case BootFallback::by_hand:
      return "Nothing goes back by itself on this machine.";
  }
  return "";
}

// The lines themselves come with --apply, which knows the change's name.
std::string fallback_text(const Change& change, const Style& style) {
  if (change.fallback == BootFallback::not_needed) return "";
  const std::string_view told = change.rescue.empty()
                                    ? ""
                                    : " --apply prints the lines that help then: save them "
                                      "somewhere else before you reboot.";
  return heading("If the machine does not boot", "", style) +
         fold(fallback_words(change.fallback) + std::string(told), "  ", style.width);
}

std::string next_text(const Change& change, const facts::Facts& now, const Style& style) {
  const std::string where = now.machine.live ? "" : "on that machine: ";
  if (is_by_hand(change)) {
    return change.needs_reboot
               ? fmt::format("\nNext: {}headroom check   (after the steps above and the reboot)\n",
                             where)
               : "\nNext: headroom check   (when you are done, in the new environment if you made "
                 "one)\n";
  }
  std::string text = "\nNext: " + where + style.bold(keep_whole(apply_command(change))) + "\n";
  if (change.words.empty()) return text;
  return text + fold("(--script, in place of --apply, prints a shell script to do it by hand)",
                     "      ", style.width);
}

}  // namespace

std::string apply_command(const Change& change) {
  const std::string command = printable(shell_line(change.words)) + " --apply";
  return needs_root(change) ? "sudo " + command : command;
}

std::vector<std::string> ways_back(const Change& change, const std::string& id) {
  std::vector<std::string> lines;
  for (std::string line : change.rescue) {
    for (auto at = line.find(plan::id_mark); at != std::string::npos;
         at = line.find(plan::id_mark, at + id.size())) {
      line.replace(at, plan::id_mark.size(), id);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> ways_back_without_journal(const Change& change) {
  std::vector<std::string> lines = change.rescue;
  std::erase_if(
      lines, [](const std::string& line) { return line.find(plan::id_mark) != std::string::npos; });
  return lines;
}

std::string note_text(std::string_view note, const Style& style) {
  std::string text;
  for (const std::string_view line : split_lines(note)) {
    const std::string shown = printable(line);
    text += text.empty() ? fold(shown, "  - ", style.width)
                         : fold(keep_whole(shown), "    ", style.width);
  }
  return text;
}

std::string warning_text(std::string_view warning, std::string_view before, const Style& style) {
  constexpr std::string_view mark = "warning: ";
  const std::string indent(before.size() + mark.size(), ' ');
  std::string text;
  for (const std::string_view line : split_lines(warning)) {
    const std::string shown = printable(line);
    const std::string first = std::string(before) + style.yellow(mark);
    text += shown.starts_with(' ') ? indent + keep_whole(shown) + "\n"
                                   : fold(shown, text.empty() ? first : indent, style.width);
  }
  return text;
}

std::string to_text(const Change& change, const facts::Facts& now, const Style& style) {
  std::string text = style.bold(printable(change.title)) + "   " +
                     style.dim("(a dry run: nothing is changed)") + "\n";
  for (const std::string& warning : change.warnings)
    text += "\n" + warning_text(warning, "", style);
  if (change.forecast) text += forecast_text(*change.forecast, now, style);
  text += steps_text(change, style) + fallback_text(change, style);
  if (!change.notes.empty()) text += heading("Good to know", "", style);
  for (const std::string& note : change.notes) text += note_text(note, style);
  return fit(text + next_text(change, now, style), style.width);
}

}  // namespace headroom::report
