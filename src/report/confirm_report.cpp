// SPDX-License-Identifier: Apache-2.0
#include "report/confirm_report.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/text.h"
#include "report/record_report.h"

namespace headroom::report {
namespace {

using plan::Outcome;
using plan::State;

std::string found_text(const std::optional<Bytes>& found) {
  return found ? to_string(*found) : "not there";
}

std::string headline(const Confirmation& answer, const Style& style) {
  const std::string title = printable(answer.record.change.title);
  if (answer.confirmed_before) {
    const bool holds = answer.comparison.outcome != Outcome::differs;
    return fmt::format("{} {}\n",
                       holds ? style.green("Confirmed already:")
                             : style.yellow("Confirmed, but no longer as predicted:"),
                       title);
  }
  if (answer.record.state == State::confirmed) {
    return fmt::format("{} {}\n", style.green("Confirmed:"), title);
  }
  if (answer.fell_back) {
    return fmt::format("{} {}\n", style.yellow("Not in force, and undone:"), title);
  }
  const bool undone = answer.record.state == State::undone;
  return fmt::format("{} {}\n", style.yellow(undone ? "Undone:" : "Not as predicted:"), title);
}

void add_differences(const Confirmation& answer, const Style& style, std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (const plan::RungDifference& rung : answer.comparison.rungs) {
    rows.push_back({rung.rung, to_string(rung.expected), found_text(rung.found), rung.gpu});
  }
  for (const plan::ParameterDifference& parameter : answer.comparison.parameters) {
    rows.push_back({parameter.name, parameter.expected, printable(parameter.found), ""});
  }
  if (!rows.empty()) rows.insert(rows.begin(), {"what", "predicted", "found", ""});
  for (const TableLine& line :
       table(rows, {Align::left, Align::right, Align::right, Align::left}, 2, style.width)) {
    text += line.text + "\n";
  }
  for (const std::string& reason : answer.comparison.reasons) {
    text += fold(printable(reason), "  ", style.width);
  }
}

std::string next_command(const Confirmation& answer) {
  if (answer.confirmed_before && answer.comparison.outcome == Outcome::differs)
    return fmt::format("headroom check   (or go back: {})", plan::undo_command(answer.record));
  if (answer.record.state == State::confirmed) return "headroom check";
  if (answer.fell_back)
    return "headroom check --log FILE   (with the messages of the failed boot: journalctl -b -1)";
  if (answer.record.state == State::undone) return "sudo reboot   (back to the old settings)";
  const bool once = answer.record.change.fallback == plan::BootFallback::next_boot;
  return fmt::format(
      "{}   ({})", plan::undo_command(answer.record),
      once ? "the next boot uses the old entry by itself"
           : "or fix the reason, reboot, and " + plan::confirm_command(answer.record));
}

}  // namespace

std::string summary(const plan::Comparison& comparison) {
  if (comparison.outcome == Outcome::as_predicted) return "every limit is as predicted";
  std::vector<std::string> parts;
  for (const plan::RungDifference& rung : comparison.rungs) {
    parts.push_back(fmt::format("{} is {}, but {} was predicted", rung.rung, found_text(rung.found),
                                to_string(rung.expected)));
  }
  for (const plan::ParameterDifference& parameter : comparison.parameters) {
    parts.push_back(fmt::format("{} is {}, but {} was predicted", parameter.name, parameter.found,
                                parameter.expected));
  }
  parts.insert(parts.end(), comparison.unread.begin(), comparison.unread.end());
  if (parts.empty()) parts = comparison.reasons;
  return join(parts, "; ");
}

std::string to_text(const Confirmation& answer, const Style& style) {
  std::string text = headline(answer, style);
  if (answer.confirmed_before) {
    text += fmt::format("  It was confirmed at {}.\n", answer.record.ended);
  }
  if (answer.record.state == State::confirmed) {
    text += "  " + summary(answer.comparison) + ".\n";
  }
  if (answer.fell_back) {
    text += fold(
        "The machine booted the old entry of its boot menu, so the new settings were not used. "
        "headroom removed what was left of them, and changed nothing else.",
        "  ", style.width);
  }
  add_differences(answer, style, text);
  for (const std::string& sentence : answer.comparison.unread) {
    text += fold(printable(sentence), "  ", style.width);
  }
  for (const std::string& note : answer.notes) {
    text += fold_lines(note, "  - ", style.width);
  }
  return fit(text + "\nNext: " + next_command(answer) + "\n", style.width);
}

std::string to_json_text(const Confirmation& answer) {
  nlohmann::ordered_json json;
  json["schema"] = "headroom.confirm/1";
  json["id"] = answer.record.id;
  json["state"] = plan::to_string(answer.record.state);
  json["outcome"] = plan::to_string(answer.comparison.outcome);
  json["fell_back"] = answer.fell_back;
  json["rungs"] = nlohmann::ordered_json::array();
  for (const plan::RungDifference& rung : answer.comparison.rungs) {
    nlohmann::ordered_json found;
    if (rung.found) found = rung.found->value;
    json["rungs"].push_back({{"gpu", rung.gpu},
                             {"rung", rung.rung},
                             {"expected_bytes", rung.expected.value},
                             {"found_bytes", found}});
  }
  json["parameters"] = nlohmann::ordered_json::array();
  for (const plan::ParameterDifference& parameter : answer.comparison.parameters) {
    json["parameters"].push_back(
        {{"name", parameter.name}, {"expected", parameter.expected}, {"found", parameter.found}});
  }
  json["reasons"] = answer.comparison.reasons;
  json["unread"] = answer.comparison.unread;
  json["notes"] = answer.notes;
  json["next"] = next_command(answer);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace headroom::report
