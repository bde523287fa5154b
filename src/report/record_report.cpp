// SPDX-License-Identifier: Apache-2.0
#include "report/record_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "base/text.h"
#include "report/change_text.h"

namespace headroom::report {
namespace {

using plan::Record;
using plan::State;

// "2026-11-21T22:30:11Z" → "2026-11-21 22:30 UTC".
std::string moment(const std::string& time) {
  if (time.size() < 16) return printable(time);
  return fmt::format("{} {} UTC", time.substr(0, 10), time.substr(11, 5));
}

bool headroom_is_at_it(const PastChange& change) {
  return std::any_of(change.at_work.begin(), change.at_work.end(),
                     [](const AtWork& one) { return one.is_headroom; });
}

// "update-grub (process 1234)".
std::string names_of(const std::vector<AtWork>& at_work) {
  std::vector<std::string> names;
  for (const AtWork& one : at_work) {
    names.push_back(fmt::format("{} (process {})", printable(one.command), one.pid));
  }
  return join(names, ", ");
}

std::string next_command(const PastChange& change) {
  const Record& record = change.record;
  if (headroom_is_at_it(change)) return "headroom history   (once it is done)";
  if (!change.at_work.empty()) {
    return fmt::format("sudo headroom undo {}   (once that has ended)", record.id);
  }
  switch (record.state) {
    case State::awaiting_reboot:
      return fmt::format("sudo reboot, then {}; or {}", plan::confirm_command(record),
                         plan::undo_command(record));
    case State::confirming:
      return fmt::format("{}   (continues; {} undoes it)", plan::confirm_command(record),
                         plan::undo_command(record));
    case State::applying:
    case State::undoing:
    case State::mismatched:
    case State::applied:
    case State::confirmed:
      return plan::undo_command(record);
    case State::undone:
      return "";
  }
  return "";
}

std::string sign_of(const plan::Touched& touched) {
  if (!touched.before) return "made";
  if (touched.done && !touched.after) return "removed";
  return touched.generated ? "regenerated" : "edited";
}

nlohmann::ordered_json to_json(const PastChange& change) {
  const Record& record = change.record;
  nlohmann::ordered_json json;
  json["id"] = record.id;
  json["fix"] = record.change.fix;
  json["title"] = record.change.title;
  json["state"] = to_string(record.state);
  json["made"] = record.made;
  json["ended"] = record.ended;
  json["said"] = record.said;
  json["undone_from"] = nullptr;
  if (record.undone_from) json["undone_from"] = to_string(*record.undone_from);
  json["at_work"] = nlohmann::ordered_json::array();
  for (const AtWork& one : change.at_work) {
    json["at_work"].push_back(
        {{"pid", one.pid}, {"command", one.command}, {"is_headroom", one.is_headroom}});
  }
  json["words"] = record.change.words;
  json["steps"] = nlohmann::ordered_json::array();
  for (const plan::Step& step : record.change.steps) json["steps"].push_back(step.what);
  json["files"] = nlohmann::ordered_json::array();
  for (const plan::Touched& touched : record.touched) {
    json["files"].push_back({{"path", touched.path},
                             {"what", sign_of(touched)},
                             {"sha256_before", touched.before_checksum},
                             {"sha256_after", touched.after_checksum}});
  }
  json["next"] = next_command(change);
  return json;
}

// While somebody is at it.
std::string describe_work(const PastChange& change) {
  const std::string names = names_of(change.at_work);
  const std::string_view doing = change.record.state == State::undoing      ? "undone"
                                 : change.record.state == State::confirming ? "confirmed"
                                                                            : "applied";
  if (headroom_is_at_it(change)) return fmt::format("being {} right now by {}", doing, names);
  return fmt::format("interrupted while it was {}; a program that it started is still running: {}",
                     doing, names);
}

std::string describe_undone(const Record& record) {
  if (!plan::never_in_force(record)) return "undone " + moment(record.ended);
  return (record.said.empty() ? "interrupted and undone " : "failed and undone ") +
         moment(record.ended);
}

// What is not as anybody wanted it, with its reason.
bool is_loud(const Record& record) {
  return plan::is_interrupted(record.state) || record.state == State::mismatched;
}

}  // namespace

std::string fold_lines(std::string_view text, std::string_view first, std::size_t width) {
  const std::string blanks(display_width(first), ' ');
  std::string folded;
  for (const std::string_view line : split_lines(text)) {
    folded += fold(printable(trim(line)), folded.empty() ? first : blanks, width);
  }
  return folded;
}

std::string describe_state(const PastChange& change) {
  const Record& record = change.record;
  if (!change.at_work.empty()) return describe_work(change);
  switch (record.state) {
    case State::applying:
      return "interrupted while it was applied";
    case State::applied:
      return has_instruction(record.change) ? "applied, except for what you have to do yourself"
                                            : "in force";
    case State::awaiting_reboot:
      return "waits for the reboot";
    case State::confirming:
      return "interrupted while it was confirmed";
    case State::confirmed:
      return "in force, confirmed " + moment(record.ended);
    case State::mismatched:
      return "in force, but the result of the reboot was not as predicted";
    case State::undoing:
      return "interrupted while it was undone";
    case State::undone:
      return describe_undone(record);
  }
  return "";
}

std::string history_to_text(const std::vector<PastChange>& changes, const Style& style) {
  if (changes.empty()) {
    return fit(
        "headroom has changed nothing on this machine.\n\n" +
            next_line("headroom fix", "(lists what it can fix here)", Style{false, style.width}),
        style.width);
  }
  std::string text;
  for (const PastChange& change : changes) {
    const Record& record = change.record;
    const bool loud = is_loud(record);
    const std::string state = describe_state(change);
    text += fmt::format("{}  {}\n", style.bold(record.id), moment(record.made));
    text += fold(printable(record.change.title), "  ", style.width);
    text += "  " + (loud ? style.yellow(state) : state) + "\n";
    const bool has_reason = loud || plan::never_in_force(record);
    if (has_reason && !record.said.empty()) {
      text += fold_lines(record.said, "  ", style.width);
    }
    const std::string next = next_command(change);
    if (!next.empty()) text += fmt::format("  {}\n", style.dim(next));
    text += "\n";
  }
  text.pop_back();
  return fit(text, style.width);
}

std::string history_to_json_text(const std::vector<PastChange>& changes) {
  nlohmann::ordered_json json;
  json["schema"] = "headroom.history/1";
  json["changes"] = nlohmann::ordered_json::array();
  for (const PastChange& change : changes) json["changes"].push_back(to_json(change));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_text(const PastChange& change, const std::string& folder, const Style& style) {
  const Record& record = change.record;
  std::string text = fmt::format("{}  {}\n", style.bold(printable(record.change.title)), record.id);
  text += fmt::format("applied {}: {}\n", moment(record.made), describe_state(change));
  if (!record.said.empty()) text += fold_lines(record.said, "", style.width);
  text += fmt::format("\nSteps of {}\n", printable(join(record.change.words, " ")));
  std::size_t number = 0;
  for (const auto* list : {&record.change.steps, &record.change.on_confirm}) {
    for (const plan::Step& step : *list) {
      const bool done = number < record.steps_done;
      ++number;
      text += fold(fmt::format("{}{}", printable(step.what), done ? "" : "   (not done)"),
                   fmt::format("  {:>2}  ", number), style.width);
    }
  }
  text += "\nFiles, with their old contents in " + folder + "/originals\n";
  std::vector<std::vector<std::string>> rows;
  for (const plan::Touched& touched : record.touched) {
    rows.push_back({touched.original, sign_of(touched), printable(touched.path)});
  }
  for (const TableLine& line :
       table(rows, {Align::left, Align::left, Align::left}, 2, style.width)) {
    text += line.text + "\n";
  }
  const std::string next = next_command(change);
  if (!next.empty()) text += "\nNext: " + next + "\n";
  return fit(text, style.width);
}

static std::string to_json_text(const PastChange& change, const std::vector<std::string>& notes) {
  nlohmann::ordered_json json;
  json["schema"] = "headroom.change/1";
  json.update(to_json(change));
  json["notes"] = notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_json_text(const Record& record, const std::vector<std::string>& notes) {
  return to_json_text(PastChange{record, {}}, notes);
}

std::string to_json_text(const PastChange& change) {
  return to_json_text(change, {});
}

namespace {

// What a person has to type keeps its lines.
std::string step_line(const plan::Step& step, std::size_t number, const Style& style) {
  const std::string first = fmt::format("  {:>2}  ", number);
  std::string text = fold(printable(step.what), first, style.width);
  const auto* instruction = std::get_if<plan::Instruction>(&step.action);
  if (instruction == nullptr) return text;
  for (const std::string_view line : split_lines(instruction->text)) {
    text += fmt::format("{:{}}{}\n", "", first.size(), keep_whole(printable(line)));
  }
  return text;
}

}  // namespace

std::string applied_to_text(const Record& record, const Style& style) {
  const plan::Change& change = record.change;
  const bool by_hand = is_by_hand(change);
  std::string text = fmt::format("{} {}\n", style.green(by_hand ? "Your part:" : "Done:"),
                                 printable(change.title));
  // Whoever applied without a dry run has not seen them.
  for (const std::string& warning : change.warnings) text += warning_text(warning, "  ", style);
  std::size_t number = 0;
  for (const plan::Step& step : change.steps) text += step_line(step, ++number, style);
  text += fold(by_hand ? fmt::format("Its id in the journal is {}.", record.id)
                       : fmt::format("The journal keeps the old state as {}.", record.id),
               "  ", style.width);
  if (!change.needs_reboot) {
    for (const std::string& note : change.notes) text += note_text(note, style);
  } else {
    const auto lines = ways_back(change, record.id);
    if (!lines.empty()) {
      text += "\n" + style.bold("If the machine does not boot") +
              "\n  Save these lines somewhere else before you reboot:\n";
    }
    for (const std::string& sentence : lines) {
      text += fold(printable(sentence), "  - ", style.width);
    }
  }
  text += fmt::format("\nNext: {}\n",
                      change.needs_reboot
                          ? fmt::format("sudo reboot   (then {})", plan::confirm_command(record))
                          : "headroom check");
  return fit(text, style.width);
}

std::string to_text(const UndoReport& undone, const Style& style) {
  const Record& record = undone.record;
  std::string text = fmt::format("{} {}\n", style.green("Undone:"), printable(record.change.title));
  if (undone.restored > 0) {
    text += fold(fmt::format("{} {} byte for byte as before, with owner, mode and labels.",
                             undone.restored, undone.restored == 1 ? "file is" : "files are"),
                 "  ", style.width);
  }
  for (const std::string& note : undone.notes) text += fold_lines(note, "  - ", style.width);
  text += record.change.needs_reboot
              ? "\nNext: sudo reboot   (the files are as before; the running system is not yet)\n"
              : "\nNext: headroom check\n";
  return fit(text, style.width);
}

}  // namespace headroom::report
