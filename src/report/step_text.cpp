// SPDX-License-Identifier: Apache-2.0
#include "report/step_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diff.h"
#include "base/shell_quote.h"
#include "base/text.h"

namespace headroom::report {
namespace {

constexpr std::string_view indent = "      ";

// Tabs are kept: files are full of them.
std::string printable_line(std::string_view line) {
  std::string text;
  for (const std::string_view part : split(line, '\t')) {
    text += (text.empty() && part.data() == line.data() ? "" : "\t") + printable(part);
  }
  return text;
}

std::string diff_text(const std::string& diff, const Style& style) {
  std::string text;
  for (const std::string_view line : split_lines(diff)) {
    const std::string shown = keep_whole(printable_line(line));
    const bool header =
        line.starts_with("---") || line.starts_with("+++") || line.starts_with("@@");
    std::string painted = shown;
    if (header) {
      painted = style.dim(shown);
    } else if (line.starts_with('-')) {
      painted = style.red(shown);
    } else if (line.starts_with('+')) {
      painted = style.green(shown);
    }
    text += std::string(indent) + painted + "\n";
  }
  return text;
}

std::string action_text(const plan::FileEdit& edit, const Style& style) {
  if (edit.before == edit.after) {
    return fmt::format("{}{} is already as it should be\n", indent, printable(edit.path));
  }
  const std::string nothing = "/dev/null";
  std::string text =
      diff_text(unified_diff(edit.before.value_or(""), edit.after.value_or(""),
                             edit.before ? edit.path : nothing, edit.after ? edit.path : nothing),
                style);
  if (text.empty()) {  // An empty file that comes or goes.
    text = fmt::format("{}{} an empty file: {}\n", indent, edit.after ? "makes" : "removes",
                       printable(edit.path));
  }
  if (edit.mode && edit.after) text += fmt::format("{}mode {:04o}\n", indent, *edit.mode);
  return text;
}

std::string action_text(const plan::LinkEdit& link, const Style& /*style*/) {
  if (link.after) {
    return fmt::format("{}{} -> {}\n", indent, printable(link.path), printable(*link.after));
  }
  return fmt::format("{}removes the link {}\n", indent, printable(link.path));
}

std::string action_text(const plan::Command& command, const Style& style) {
  std::string text = fmt::format("{}{}{}\n", indent, keep_whole("$ "),
                                 style.bold(keep_whole(printable(shell_line(command.argv)))));
  if (!command.edits.empty()) {
    text += fold("changes " + printable(join(command.edits, ", ")), indent, style.width);
  }
  if (!command.generates.empty()) {
    text += fold("generates " + printable(join(command.generates, ", ")), indent, style.width);
  }
  return text;
}

std::string action_text(const plan::Instruction& instruction, const Style& style) {
  std::string text;
  for (const std::string_view line : split_lines(instruction.text)) {
    text += instruction.verbatim || line.starts_with(' ')
                ? std::string(indent) + keep_whole(printable(line)) + "\n"
                : fold(printable(line), indent, style.width);
  }
  return text;
}

const std::string* removed_again(const plan::Step& step, std::span<const plan::Step> made) {
  const auto* removal = std::get_if<plan::FileEdit>(&step.action);
  if (removal == nullptr || removal->after) return nullptr;
  const bool known = std::any_of(made.begin(), made.end(), [&](const plan::Step& earlier) {
    const auto* edit = std::get_if<plan::FileEdit>(&earlier.action);
    return edit != nullptr && edit->path == removal->path && edit->after == removal->before;
  });
  return known ? &removal->path : nullptr;
}

std::string expectation_text(const plan::Expectation& expected) {
  switch (expected.kind) {
    case plan::Expectation::Kind::file_contains:
      return fmt::format("{} then contains \"{}\"", expected.path, expected.text);
    case plan::Expectation::Kind::file_lacks:
      return fmt::format("{} then does not contain \"{}\"", expected.path, expected.text);
    case plan::Expectation::Kind::image_holds:
      return fmt::format("{} then contains {}", expected.path, expected.text);
  }
  return "";
}

}  // namespace

std::string step_text(const plan::Step& step, std::size_t number, const Style& style,
                      std::span<const plan::Step> made) {
  std::string text = fold(printable(step.what), fmt::format("  {:>2}. ", number), style.width);
  if (!step.why.empty()) text += fold(printable(step.why), indent, style.width);
  if (const std::string* path = removed_again(step, made)) {
    text += fmt::format("{}removes {}\n", indent, printable(*path));
  } else {
    text += std::visit([&](const auto& action) { return action_text(action, style); }, step.action);
  }
  for (const plan::Expectation& expected : step.expects) {
    text += fold("checked: " + printable(expectation_text(expected)), indent, style.width);
  }
  return text;
}

}  // namespace headroom::report
