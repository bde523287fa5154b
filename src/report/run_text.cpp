// SPDX-License-Identifier: Apache-2.0
#include "report/run_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/style.h"
#include "supervisor/wording.h"

namespace headroom::report {
namespace {

using supervisor::Attempt;
using supervisor::EndedBy;
using supervisor::Outcome;
using supervisor::RunReport;
using supervisor::Settings;

constexpr std::size_t most_lines = 10;
constexpr std::size_t longest_text = 160;

const Attempt& last_of(const RunReport& report) {
  return report.attempts.back();
}

supervisor::Time time_of(const RunReport& report) {
  supervisor::Time sum{0};
  for (const Attempt& attempt : report.attempts) sum += attempt.duration;
  return sum;
}

template <class Member>
std::optional<Bytes> highest(const RunReport& report, Member member) {
  std::optional<Bytes> found;
  for (const Attempt& attempt : report.attempts) {
    const std::optional<Bytes>& one = attempt.peak.*member;
    if (one && (!found || *found < *one)) found = one;
  }
  return found;
}

std::string peak_text(const RunReport& report, const RunWords& words) {
  using supervisor::Peak;
  auto memory = highest(report, &Peak::cgroup);
  if (!memory) memory = highest(report, &Peak::rss);
  if (!memory) return "";
  std::string text = "peak memory " + to_string(*memory);
  if (words.memory) text += " of " + to_string(*words.memory);
  const auto vram = highest(report, &Peak::vram);
  const auto gtt = highest(report, &Peak::gtt);
  if (vram && vram->value > 0) text += fmt::format(", VRAM {}", to_string(*vram));
  if (gtt && gtt->value > 0) text += fmt::format(", GTT {}", to_string(*gtt));
  return text;
}

std::string attempts_text(const RunReport& report) {
  const std::size_t count = report.attempts.size();
  return count == 1 ? "" : fmt::format(" in {} attempts", count);
}

std::string what_happened(const RunReport& report) {
  const Attempt& last = last_of(report);
  const std::string name = printable(report.name);
  const std::string ended = supervisor::describe_exit(last.exit);
  const std::string after = "after " + supervisor::describe_time(last.duration);
  switch (report.outcome) {
    case Outcome::completed:
      return fmt::format("{} completed{}, in {}", name, attempts_text(report),
                         supervisor::describe_time(time_of(report)));
    case Outcome::stopped:
      return fmt::format("{} was stopped; it {} {}", name, ended, after);
    case Outcome::gave_up:
      return fmt::format("gave up on {} after {} attempts; the last one {} {}", name,
                         report.attempts.size(), ended, after);
    case Outcome::failed:
      break;
  }
  if (last.ended_by == EndedBy::headroom)
    return fmt::format("{} was ended by headroom {}", name, after);
  return fmt::format("{} {} {}", name, ended, after);
}

std::string cause_line(const supervisor::AttemptCause& cause) {
  if (cause.id == "insufficient-evidence" || cause.id == "none")
    return "root cause unknown: " + shorten(printable(cause.title), longest_text);
  return fmt::format("root cause: {} ({:.0f} % sure): {}", cause.id,
                     std::floor(cause.confidence * 100),
                     shorten(printable(cause.title), longest_text));
}

std::string evidence_line(const findings::Evidence& one) {
  const std::string place =
      one.line > 0 ? fmt::format("{}:{}", printable(one.source), one.line) : printable(one.source);
  return fmt::format("evidence: {}  {}", place,
                     shorten(printable(std::string(trim(one.text))), longest_text));
}

// "micro 8, 4 and 2", in the order of the attempts; empty where they did not change.
std::string tried_micros(const RunReport& report) {
  std::vector<std::string> micros;
  for (const Attempt& attempt : report.attempts) {
    if (!attempt.settings.micro) return "";
    std::string text = std::to_string(*attempt.settings.micro);
    if (micros.empty() || micros.back() != text) micros.push_back(std::move(text));
  }
  if (micros.size() < 2) return "";
  const std::string last = micros.back();
  micros.pop_back();
  return fmt::format("micro {} and {}", join(micros, ", "), last);
}

std::string tried_line(const RunReport& report) {
  if (report.attempts.size() < 2) return "";
  const auto failed_for_memory = static_cast<std::size_t>(
      std::count_if(report.attempts.begin(), report.attempts.end(),
                    [](const Attempt& attempt) { return attempt.out_of_memory; }));
  std::vector<std::string> parts;
  if (const std::string micros = tried_micros(report); !micros.empty()) parts.push_back(micros);
  if (failed_for_memory > 0)
    parts.push_back(fmt::format("{} of {} attempts ran out of memory", failed_for_memory,
                                report.attempts.size()));
  const std::size_t others = report.attempts.size() - failed_for_memory;
  if (parts.empty())
    parts.push_back(fmt::format("the same command {} times", report.attempts.size()));
  else if (failed_for_memory == 0)
    parts.push_back(fmt::format("{} attempts", others));
  return "tried: " + join(parts, "; ");
}

std::string left_line(const RunReport& report) {
  if (report.left_behind.empty()) return "";
  const auto stayed = std::find_if(report.left_behind.begin(), report.left_behind.end(),
                                   [](const supervisor::LeftBehind& one) { return !one.ended; });
  if (stayed != report.left_behind.end())
    return fmt::format("left running: process {} ({}) could not be ended", stayed->pid,
                       shorten(printable(stayed->command), 60));
  const supervisor::LeftBehind& one = report.left_behind.front();
  if (report.left_behind.size() == 1)
    return fmt::format("it left process {} ({}) running, which headroom ended", one.pid,
                       shorten(printable(one.command), 60));
  return fmt::format("it left {} processes running, which headroom ended; the first was {} ({})",
                     report.left_behind.size(), one.pid, shorten(printable(one.command), 60));
}

std::string settings_option(const Settings& settings) {
  std::vector<std::string> parts;
  if (settings.micro) parts.push_back(fmt::format("micro={}", *settings.micro));
  if (settings.accumulate) parts.push_back(fmt::format("accumulate={}", *settings.accumulate));
  return "--settings " + join(parts, ",");
}

bool has_stuck(const RunReport& report) {
  return std::any_of(report.left_behind.begin(), report.left_behind.end(),
                     [](const supervisor::LeftBehind& one) { return !one.ended; });
}

// The command that gets furthest from here.
std::string next_line(const RunReport& report, const RunWords& words) {
  const Attempt& last = last_of(report);
  if (has_stuck(report)) return "next: headroom reclaim";
  if (last.cause && last.cause->id == "fragmentation" && !words.has_allocator)
    return fmt::format("next: headroom run --allocator {}-- {}", words.ranks, words.command);
  if (last.out_of_memory && report.next_change && words.takes_settings)
    return fmt::format("next: headroom run {} {}-- {}", settings_option(*report.next_change),
                       words.ranks, words.command);
  if (last.out_of_memory && !words.takes_settings)
    return "next: headroom run --settings micro=8 -- CMD, with {micro} instead of its batch size";
  if (last.cause) {
    const auto step = std::find_if(last.cause->fix.begin(), last.cause->fix.end(),
                                   [](const findings::Step& one) { return one.is_command(); });
    if (step != last.cause->fix.end()) return "next: " + printable(step->text);
  }
  const bool is_clear = last.cause && last.cause->id != "insufficient-evidence";
  if (is_clear) return "next: headroom check";
  return fmt::format("next: headroom run --restarts 3 --report run.json {}-- {}", words.ranks,
                     words.command);
}

std::string fix_line(const supervisor::AttemptCause& cause) {
  if (cause.fix.empty()) return "";
  return "what to do: " + shorten(printable(cause.fix.front().whole()), longest_text);
}

void add(std::vector<std::string>& lines, std::string line) {
  if (!line.empty() && lines.size() < most_lines) lines.push_back(std::move(line));
}

std::vector<std::string> completed_lines(const RunReport& report, const RunWords& words) {
  std::vector<std::string> lines;
  std::string first = what_happened(report);
  if (const std::string peak = peak_text(report, words); !peak.empty()) first += "; " + peak;
  add(lines, first);
  const Settings& settings = last_of(report).settings;
  const bool shrank = settings.micro != report.attempts.front().settings.micro;
  if (shrank) add(lines, "it fits with " + settings_option(settings));
  add(lines, left_line(report));
  return lines;
}

// It was never started, and why has been said.
bool began(const RunReport& report) {
  const auto never = [](const Attempt& attempt) {
    const bool as_a_shell = attempt.exit.code == 126 || attempt.exit.code == 127;
    return as_a_shell && attempt.duration.count() == 0 && !attempt.cause;
  };
  return !report.attempts.empty() && !never(last_of(report));
}

}  // namespace

std::string start_line(const RunReport& begun, const RunWords& words) {
  const std::string name = printable(begun.name);
  if (!words.memory) return fmt::format("supervising {}, without a memory limit", name);
  if (begun.limited_by.empty())
    return fmt::format("supervising {}; its memory limit of {} could not be set", name,
                       to_string(*words.memory));
  return fmt::format("supervising {}; its memory is limited to {} by {}", name,
                     to_string(*words.memory), printable(begun.limited_by));
}

std::vector<std::string> end_lines(const RunReport& report, const RunWords& words) {
  if (!began(report)) return {};
  if (report.outcome == Outcome::completed) return completed_lines(report, words);
  const Attempt& last = last_of(report);
  std::vector<std::string> lines;
  add(lines, what_happened(report));
  const bool by_user = report.outcome == Outcome::stopped;
  if (last.cause && !by_user) {
    add(lines, cause_line(*last.cause));
    if (!last.cause->evidence.empty()) add(lines, evidence_line(last.cause->evidence.front()));
  }
  add(lines, tried_line(report));
  add(lines, peak_text(report, words));
  add(lines, left_line(report));
  if (last.cause && !by_user) add(lines, fix_line(*last.cause));
  if (!by_user) add(lines, next_line(report, words));
  return lines;
}

}  // namespace headroom::report
