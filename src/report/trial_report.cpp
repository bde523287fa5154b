// SPDX-License-Identifier: Apache-2.0
#include "report/trial_report.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/shell_quote.h"
#include "base/text.h"
#include "report/step_cause.h"

namespace headroom::report {
namespace {

using proof::StackResult;
using proof::TrialReport;
using Ordered = nlohmann::ordered_json;

constexpr std::string_view no_value = "-";

std::string stack_name(const StackResult& stack) {
  if (stack.framework.empty()) return "no framework";
  return printable(stack.framework + (stack.version.empty() ? "" : " " + stack.version));
}

// The Pythons and images, in the order of their best stacks.
std::vector<std::string> places_of(const TrialReport& report) {
  std::vector<std::string> places;
  for (const StackResult& stack : report.stacks) {
    if (std::find(places.begin(), places.end(), stack.place()) == places.end())
      places.push_back(stack.place());
  }
  return places;
}

std::string number_of(const std::vector<std::string>& places, const StackResult& stack) {
  const auto at = std::find(places.begin(), places.end(), stack.place());
  return std::to_string(at - places.begin() + 1);
}

std::string speed_of(const TrialReport& report, const StackResult& stack) {
  const auto speed = samples_per_s(stack, report.job.samples_per_step());
  if (!speed) return std::string(no_value);
  return *speed >= 100 ? fmt::format("{:.0f}", *speed) : fmt::format("{:.3g}", *speed);
}

std::string size_text(std::optional<std::uint64_t> bytes) {
  return bytes && *bytes > 0 ? to_string(Bytes{*bytes}) : std::string(no_value);
}

std::string table_of(const TrialReport& report, const Style& style) {
  const auto places = places_of(report);
  std::vector<std::vector<std::string>> rows{
      {"stack", "in", "on", "", "steps", "samples/s", "peak", "planned"}};
  for (const StackResult& stack : report.stacks) {
    const std::string peak = size_text(stack.training.peak_bytes);
    rows.push_back({stack_name(stack), number_of(places, stack),
                    stack.device.empty() ? std::string(no_value) : printable(stack.device),
                    stack.ok ? "ok" : "FAILED",
                    fmt::format("{}/{}", stack.training.step_s.size(), report.steps),
                    speed_of(report, stack), peak,
                    peak == no_value ? peak : size_text(stack.planned_bytes)});
  }
  std::string text;
  const auto lines = table(rows,
                           {Align::left, Align::left, Align::left, Align::left, Align::right,
                            Align::right, Align::right, Align::right},
                           2, style.width);
  for (const TableLine& line : lines) {
    const bool is_heading = line.row == 0;
    const bool has_failed = !is_heading && !report.stacks[line.row - 1].ok;
    text += (is_heading   ? style.dim(line.text)
             : has_failed ? style.red(line.text)
                          : line.text) +
            "\n";
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    text += fold(printable(places[i]), fmt::format("  {}: ", i + 1), style.width);
  return text;
}

std::string explain(const TrialReport& report, const StackResult& stack, const Style& style) {
  if (stack.ok) return "";
  const std::string name =
      fmt::format("{} in {}", stack_name(stack), number_of(places_of(report), stack));
  std::string text = "\n" + style.bold(name) + "\n" +
                     fold(fmt::format("It failed at {}: {}", stack.step, printable(stack.detail)),
                          "  ", style.width);
  if (stack.cause) text += step_cause_text(stack.step, *stack.cause, style);
  return text;
}

// What the columns mean, as far as there is something in them.
std::vector<std::string> notes_of(const TrialReport& report) {
  std::vector<std::string> notes = report.remarks;
  if (!report.job.left_out.empty())
    notes.push_back("Not part of the trial: " + join(report.job.left_out, "; "));
  bool on_processor = false;
  std::vector<std::string> reasons;
  for (const StackResult& stack : report.stacks) {
    if (stack.training.peak_bytes == 0) continue;
    on_processor = on_processor || stack.device == "cpu";
    if (stack.planned_bytes || stack.not_planned.empty()) continue;
    const std::string reason = stack_name(stack) + " is not planned: " + stack.not_planned;
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(reason);
  }
  if (on_processor) {
    notes.emplace_back(
        "On the processor the peak is what the process's resident memory grew by, libraries' own "
        "buffers included; a plan counts tensors alone");
  }
  notes.insert(notes.end(), reasons.begin(), reasons.end());
  return notes;
}

std::string advice_of(const TrialReport& report) {
  if (!report.any_ok()) return "No stack finished the job.";
  const StackResult& best = report.stacks.front();
  const std::string use = fmt::format("Use {} of {}", stack_name(best), printable(best.place()));
  const auto speed = samples_per_s(best, report.job.samples_per_step());
  if (report.stacks.size() < 2 || !report.stacks[1].ok || !speed) return use + ".";
  const auto next = samples_per_s(report.stacks[1], report.job.samples_per_step());
  if (!next) return use + ".";
  // Two runs of the same differ by some percent.
  constexpr double same = 1.05;
  if (*speed < same * *next)
    return fmt::format("{}; {} is as fast.", use, stack_name(report.stacks[1]));
  return fmt::format("{}: {:.1f} times as fast as {}.", use, *speed / *next,
                     stack_name(report.stacks[1]));
}

struct Next {
  std::string command, remark;
};

Next next_of(const TrialReport& report) {
  const StackResult& first = report.stacks.front();
  if (first.python.empty()) return {"headroom check", "(what of this machine could explain it)"};
  const std::string python = " --python " + shell_quote(first.python);
  if (!first.ok) return {"headroom check" + python, "(what of this machine could explain it)"};
  return {"headroom test" + python, "(proves the device with it, operation by operation)"};
}

Ordered text_or_null(const std::string& text) {
  return text.empty() ? Ordered(nullptr) : Ordered(text);
}

template <class T>
Ordered value_or_null(const std::optional<T>& value) {
  return value ? Ordered(*value) : Ordered(nullptr);
}

Ordered to_json(const TrialReport& report, const StackResult& stack) {
  const proof::TrainingProgress& training = stack.training;
  const bool is_told = training.peak_bytes > 0;
  Ordered row;
  row[stack.image.empty() ? "python" : "image"] = stack.place();
  row.update({{"framework", text_or_null(stack.framework)},
              {"version", text_or_null(stack.version)},
              {"device", text_or_null(stack.device)},
              {"ok", stack.ok},
              {"step", stack.step},
              {"detail", stack.detail},
              {"cause", stack.cause ? step_cause_json(*stack.cause) : Ordered(nullptr)},
              {"peak_bytes", is_told ? Ordered(training.peak_bytes) : Ordered(nullptr)},
              {"peak_by", text_or_null(training.peak_by)},
              {"planned_bytes", value_or_null(stack.planned_bytes)},
              {"not_planned", text_or_null(stack.not_planned)},
              {"samples_per_s", value_or_null(samples_per_s(stack, report.job.samples_per_step()))},
              {"first_step_s",
               training.step_s.empty() ? Ordered(nullptr) : Ordered(training.step_s.front())},
              {"steps_done", training.step_s.size()},
              {"first_loss", value_or_null(training.first_loss)},
              {"last_loss", value_or_null(training.last_loss)}});
  return row;
}

}  // namespace

std::string to_json_text(const TrialReport& report) {
  Ordered stacks = Ordered::array();
  for (const StackResult& stack : report.stacks) stacks.push_back(to_json(report, stack));
  const estimate::Job& job = report.job.job;
  const Ordered document = {{"schema", "headroom.try/1"},
                            {"job",
                             {{"model", report.job.family},
                              {"batch", report.job.samples_per_step()},
                              {"sequence", job.batch.sequence},
                              {"dtype", to_string(job.compute.dtype)},
                              {"left_out", report.job.left_out}}},
                            {"steps", report.steps},
                            {"stacks", std::move(stacks)},
                            {"remarks", report.remarks},
                            {"advice", advice_of(report)},
                            {"next", next_of(report).command}};
  return document.dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

std::string to_text(const TrialReport& report, const Style& style) {
  std::string text = fold(printable(describe(report.job)), "", style.width) + "\n";
  text += table_of(report, style);
  for (const StackResult& stack : report.stacks) text += explain(report, stack, style);
  text += "\n";
  for (const std::string& note : notes_of(report))
    text += fold(printable(note) + ".", "", style.width);
  const std::string advice = fold(advice_of(report), "", style.width);
  text += report.any_ok() ? style.green(advice) : style.red(advice);
  const Next next = next_of(report);
  return fit(text + next_line(next.command, next.remark, style), style.width);
}

}  // namespace headroom::report
