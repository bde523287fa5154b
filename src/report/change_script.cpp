// SPDX-License-Identifier: Apache-2.0
#include "report/change_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fill_in.h"
#include "base/shell_follow.h"
#include "base/shell_quote.h"
#include "base/text.h"
#include "plan/confirm_unit.h"
#include "report/change_text.h"
#include "report/script_text.h"

namespace headroom::report {

// change_script.sh beside this file, compiled in by cmake/Embed.cmake.
extern const std::string_view change_script_sh;

namespace {

using plan::Command;
using plan::FileEdit;
using plan::LinkEdit;
using plan::Step;

// "$root"/etc/modprobe.d/headroom.conf, with a "*" of the last part left to the shell.
std::string path_word(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string name = path.substr(folder.size());
  std::string word = "\"$root\"" + (folder.empty() ? "" : shell_quote(folder));
  std::string plain;
  for (const char c : name + '*') {
    if (c != '*') {
      plain += c;
      continue;
    }
    if (!plain.empty()) word += shell_quote(plain);
    plain.clear();
    word += '*';
  }
  word.pop_back();  // The star that was added.
  return word;
}

std::string path_words(const std::vector<std::string>& paths) {
  std::string words;
  for (const std::string& path : paths) words += " " + path_word(path);
  return words;
}

std::string check_line(const FileEdit& edit) {
  const std::string path = path_word(edit.path);
  if (!edit.before) return fmt::format("expect_absent {}\n", path);
  return feed("expect_same " + path, *edit.before);
}

std::string check_line(const LinkEdit& link) {
  const std::string path = path_word(link.path);
  if (!link.before) return fmt::format("expect_absent {}\n", path);
  return fmt::format("expect_link {} {}\n", path, shell_quote(*link.before));
}

std::string action_lines(const FileEdit& edit) {
  const std::string path = path_word(edit.path);
  const std::string lines = check_line(edit) + fmt::format("save {}\n", path);
  if (!edit.after) return lines + fmt::format("remove {}\n", path);
  return lines + feed(fmt::format("put {} {:04o}", path, edit.mode.value_or(0644)), *edit.after);
}

std::string action_lines(const LinkEdit& link) {
  const std::string path = path_word(link.path);
  const std::string lines = check_line(link) + fmt::format("save {}\n", path);
  if (!link.after) return lines + fmt::format("remove {}\n", path);
  return lines + fmt::format("put_link {} {}\n", shell_quote(*link.after), path);
}

std::string action_lines(const Command& command) {
  std::string lines;
  if (!command.edits.empty()) lines += "save" + path_words(command.edits) + "\n";
  if (!command.generates.empty()) lines += "save" + path_words(command.generates) + "\n";
  return lines + "run " + shell_line(command.argv) + "\n";
}

std::string action_lines(const plan::Instruction& instruction) {
  return feed("cat", instruction.text.ends_with('\n') ? instruction.text : instruction.text + "\n");
}

std::string expectation_line(const plan::Expectation& expected) {
  const std::string path = path_word(expected.path);
  const std::string text = shell_quote(expected.text);
  switch (expected.kind) {
    case plan::Expectation::Kind::file_contains:
      return fmt::format("expect_text {} {}\n", text, path);
    case plan::Expectation::Kind::file_lacks:
      return fmt::format("expect_no_text {} {}\n", text, path);
    case plan::Expectation::Kind::image_holds:
      return fmt::format("expect_in_image {} {}\n", path, text);
  }
  return "";
}

std::string comment(std::string_view text) {
  std::string lines;
  for (const std::string_view line : split_lines(text)) lines += "# " + printable(line) + "\n";
  return lines;
}

std::string step_lines(const Step& step) {
  std::string lines = "\n" + comment(step.why) + "say " + shell_quote(printable(step.what)) + "\n";
  lines += std::visit([](const auto& action) { return action_lines(action); }, step.action);
  for (const plan::Expectation& expected : step.expects) lines += expectation_line(expected);
  return lines;
}

bool is_of_unit(const Step& step) {
  const auto* edit = std::get_if<FileEdit>(&step.action);
  const auto* link = std::get_if<LinkEdit>(&step.action);
  return (edit != nullptr && edit->path == plan::confirm_unit_path) ||
         (link != nullptr && link->path == plan::confirm_unit_link);
}

// What confirms asks the journal, where a script writes nothing.
bool confirms(const Step& step) {
  const auto* instruction = std::get_if<plan::Instruction>(&step.action);
  return is_of_unit(step) || (instruction != nullptr && instruction->text == plan::confirm_by_hand);
}

// Without the unit that confirms, and without the reload that it needs.
std::vector<Step> without_unit(const std::vector<Step>& steps) {
  std::vector<Step> kept;
  bool dropped = false;
  for (const Step& step : steps) {
    const auto* command = std::get_if<Command>(&step.action);
    const bool reload = command != nullptr && command->argv.size() == 2 &&
                        command->argv[0] == "systemctl" && command->argv[1] == "daemon-reload";
    dropped = confirms(step) || (dropped && reload);
    if (!dropped) kept.push_back(step);
  }
  return kept;
}

// What the steps after it build on is checked before the first of them acts.
std::string checks_first(const std::vector<Step>& steps) {
  std::string lines;
  std::vector<std::string> seen;
  for (const Step& step : steps) {
    std::string line;
    std::string path;
    if (const auto* edit = std::get_if<FileEdit>(&step.action)) {
      line = check_line(*edit);
      path = edit->path;
    } else if (const auto* link = std::get_if<LinkEdit>(&step.action)) {
      line = check_line(*link);
      path = link->path;
    }
    if (line.empty() || std::find(seen.begin(), seen.end(), path) != seen.end()) continue;
    seen.push_back(path);
    lines += line;
  }
  return lines.empty() ? ""
                       : "\n# Nothing is changed unless every file is as it was read.\n" + lines;
}

// Every place that the steps write to or read, links of their own and what commands write as the
// folders that hold them.
std::vector<std::string> places(const std::vector<Step>& steps) {
  std::vector<std::string> words;
  const auto add = [&words](const std::string& path) {
    const std::string word = path_word(path);
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  };
  const auto add_folder = [&add](const std::string& path) {
    add(path.substr(0, path.rfind('/') + 1));
  };
  for (const Step& step : steps) {
    if (const auto* edit = std::get_if<FileEdit>(&step.action)) add(edit->path);
    if (const auto* link = std::get_if<LinkEdit>(&step.action)) add_folder(link->path);
    if (const auto* command = std::get_if<Command>(&step.action)) {
      for (const std::string& path : command->edits) add_folder(path);
      for (const std::string& path : command->generates) add_folder(path);
    }
    for (const plan::Expectation& expected : step.expects) add(expected.path);
  }
  return words;
}

std::string part(std::string_view name, const std::vector<Step>& steps, const std::string& end) {
  std::string body;
  const bool acts = std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    return !std::holds_alternative<plan::Instruction>(step.action);
  });
  if (acts) {
    body += "\n# Root goes only through folders that only root can write to.\n";
    body += "expect_safe \"$backups\"";
    for (const std::string& word : places(steps)) body += " \\\n  " + word;
    body += "\n" + checks_first(steps) + "keep_copies\n";
  }
  for (const Step& step : steps) body += step_lines(step);
  return fmt::format("{}() {{{}{}\n}}\n", name, body, end);
}

std::string ending(const plan::Change& change, bool has_more) {
  if (plan::is_by_hand(change)) {
    return "\nsay 'Nothing was changed. Do what is printed above by hand.'\n";
  }
  const bool partly = std::any_of(change.steps.begin(), change.steps.end(), [](const Step& step) {
    return std::holds_alternative<plan::Instruction>(step.action);
  });
  std::string lines = "\nsay \"Done. Copies of the old files are in $backups\"\n";
  if (partly)
    lines += "say 'Some steps above are only printed. Do those by hand, in the order given.'\n";
  if (change.needs_reboot) lines += "say 'Now reboot, then run: headroom check'\n";
  if (has_more) {
    lines +=
        "printf '%s\\n' \"If the limits are right then, make them permanent: sudo sh $0 "
        "confirm\"\n";
  }
  lines += "printf 'To go back: cp -a %s/. %s/\\n' \"$backups\" \"$root\"";
  for (const Step& step : change.steps) {
    const auto* edit = std::get_if<FileEdit>(&step.action);
    if (edit == nullptr || edit->before || is_of_unit(step)) continue;
    lines += fmt::format("\nprintf '            rm %s\\n' {}", path_word(edit->path));
  }
  return lines;
}

// What is said above the text of change_script.sh.
std::string title(const plan::Change& change) {
  std::string lines = comment(change.title) + "#\n";
  lines += comment("Made by: " + shell_line(change.words) + " --script");
  for (const std::string& warning : change.warnings) lines += comment("Warning: " + warning);
  for (const std::string& line : ways_back_without_journal(change)) {
    lines += comment("If the machine does not boot: " + line);
  }
  return lines;
}

// Root keeps its copies where it keeps its own, not where somebody's home folder is.
constexpr std::string_view state_of_root = "state=$root/var/lib\n";
constexpr std::string_view state_of_user =
    "state=${XDG_STATE_HOME:-$HOME/.local/state}\n"
    "[ -z \"$careful\" ] || state=$root/var/lib\n";

constexpr std::string_view root_only =
    "\n[ -n \"$root\" ] || [ \"$(id -u)\" = 0 ] || fail \"run it as root: sudo sh $0\"\n";

constexpr std::string_view start_either =
    "case ${1:-apply} in\n  apply) apply ;;\n  confirm) confirm ;;\n"
    "  *) fail \"expected apply or confirm, found $1\" ;;\nesac\n";

}  // namespace

std::string to_script(const plan::Change& change) {
  const std::vector<Step> steps = without_unit(change.steps);
  const std::vector<Step> later = without_unit(change.on_confirm);
  const bool as_root =
      std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.needs_root; });
  const std::string safe_way = (as_root ? "sudo " : "") + shell_line(change.words) + " --apply";
  std::string parts = part("apply", steps, ending(change, !later.empty()));
  if (!later.empty()) parts += "\n" + part("confirm", later, "");
  return "#!/bin/sh\n" + title(change) +
         fill_in(change_script_sh,
                 {{"safe_way", fmt::format("safe_way={}\n", shell_quote(safe_way))},
                  {"careful", std::string(shell_careful_sh)},
                  {"follow", std::string(shell_follow_sh)},
                  {"parts", parts},
                  {"root_only", std::string(as_root ? root_only : "")},
                  {"state", std::string(as_root ? state_of_root : state_of_user)},
                  {"fix", shell_quote(change.fix)},
                  {"start", std::string(later.empty() ? "apply\n" : start_either)}});
}

}  // namespace headroom::report
