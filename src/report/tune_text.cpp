// SPDX-License-Identifier: Apache-2.0
// Tuning for the person at the terminal: what would be tried; what was, and what came of it.
#include <fmt/format.h>

#include <algorithm>

#include "report/tune_report.h"

namespace headroom::report {
namespace {

using tune::Outcome;
using tune::TuneReport;

constexpr std::size_t most_rows = 8;

std::string heading(const std::string& title, const Style& style) {
  return "\n" + style.bold(title) + "\n";
}

std::string settings_text(const tune::Space& space, const tune::Point& point) {
  std::string text;
  for (std::size_t i = 0; i < space.axes.size(); ++i) {
    const deploy::TuneSetting& setting = space.axes[i].setting;
    const bool is_option = setting.as == deploy::TuneSetting::As::option;
    text += (text.empty() ? "" : ", ") + setting.name + (is_option ? " " : " = ") +
            setting.values[point[i]];
  }
  return printable(text);
}

// "1", "1.2", "12", "123": what the measurement is worth.
std::string ms_text(double ms) {
  return fmt::format("{:.{}f}", ms, ms < 10 ? 2 : ms < 100 ? 1 : 0);
}

std::string verdict(const TuneReport& report, const Style& style) {
  const std::string name = printable(report.name);
  const auto before = report.baseline.mean_ms();
  const auto after = report.best_ms();
  switch (report.outcome) {
    case Outcome::planned:
      return style.bold(name) + ": nothing was touched, so nothing was measured\n";
    case Outcome::deployed:
      return style.green("deployed") + fmt::format(": {} takes {} ms an item; it took {}\n", name,
                                                   ms_text(*after), ms_text(*before));
    case Outcome::kept:
      return style.green("kept") + ": the present settings of " + name + " are as fast as any\n";
    case Outcome::refused:
      return style.red("refused") + ": nothing was changed\n";
    case Outcome::interrupted:
    case Outcome::failed:
      break;
  }
  const std::string word = report.outcome == Outcome::failed ? "failed" : "interrupted";
  return style.red(word) + (report.restored.value_or(true)
                                ? ": the present settings stay\n"
                                : ": the present settings are NOT fully restored\n");
}

std::string reasons(const TuneReport& report, const Style& style) {
  if (!report.cause)
    return report.why.empty() ? "" : fold(printable(report.why), "  ", style.width);
  std::string text =
      fold(printable(report.cause->id + ": " + report.cause->title), "  ", style.width);
  for (const std::string& reason : report.cause->reasons)
    text += fold(printable(reason), "    - ", style.width);
  for (const findings::Step& step : report.cause->fix)
    text += fold(printable(step.text), "    - ", style.width);
  return text;
}

std::string space_text(const TuneReport& report, const Style& style) {
  std::string text = heading("Settings", style);
  for (const tune::Axis& axis : report.space.axes) {
    const deploy::TuneSetting& setting = axis.setting;
    std::string values;
    for (const std::string& value : setting.values) values += (values.empty() ? "" : ", ") + value;
    const std::string now =
        axis.now ? setting.values[*axis.now] + (axis.is_set ? "" : " by default") : "not known";
    text += fold(
        printable(fmt::format("{}: {} (now {}), in {}", setting.name, values, now, setting.file)),
        "  ", style.width);
  }
  return text;
}

std::string plan_text(const TuneReport& report, const Style& style) {
  return heading("What --apply does", style) +
         fold(fmt::format("It measures the present settings with {} requests, {} at once. Then it "
                          "restarts the service with other settings, at most {} times, and asks it "
                          "at most {} requests in all. {} of them are timed; to time every one of "
                          "the {} combinations would take {}.",
                          report.repeat, report.at_once, report.most_starts, report.most_requests,
                          report.most_measurements, report.space.points.size(), report.exhaustive),
              "  ", style.width) +
         fold(
             "While another setting is tried, users get its answers, and between two of them none. "
             "In the end the fastest is deployed as headroom deploy does it, or the present "
             "settings are back. After a crash or a loss of power the next headroom tune, headroom "
             "deploy or boot brings them back.",
             "  ", style.width);
}

std::vector<std::string> row_of(const TuneReport& report, const tune::Tried& one) {
  std::string settings = settings_text(report.space, report.space.points[one.point]);
  if (report.space.present == one.point) settings += "   (present)";
  return {one.ms ? ms_text(*one.ms) : "-", one.peak ? to_string(*one.peak) : "?",
          std::to_string(one.requests), one.ms ? settings : settings + "   " + printable(one.why)};
}

// The fastest, and the present one wherever it stands.
std::string tried_text(const TuneReport& report, const Style& style) {
  if (report.tried.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"ms an item", "memory", "requests", "settings"}};
  std::size_t failed = 0, more = 0;
  for (const tune::Tried& one : report.tried) {
    if (!one.ms) ++failed;
    const bool is_shown = rows.size() <= most_rows || one.point == report.space.present;
    if (is_shown) {
      rows.push_back(row_of(report, one));
    } else {
      ++more;
    }
  }
  std::string text = heading(
      fmt::format("Tried: {} of {} combinations", report.tried.size(), report.space.points.size()),
      style);
  for (const TableLine& line :
       table(rows, {Align::right, Align::right, Align::right, Align::left}, 2, style.width))
    text += line.text + "\n";
  std::string rest = fmt::format("{} starts of the service and {} requests, of which {} were timed",
                                 report.starts, report.requests, report.measurements);
  if (report.seconds) rest += fmt::format(", in {:.0f} s", *report.seconds);
  rest += fmt::format("; all combinations would take {}.", report.exhaustive);
  if (more > 0) rest += fmt::format(" {} more are not shown.", more);
  if (failed > 0) rest += fmt::format(" {} failed.", failed);
  if (report.too_large > 0 && report.memory)
    rest += fmt::format(" {} were left out: they would take more than {} of memory.",
                        report.too_large, to_string(*report.memory));
  return text + fold(rest, "  ", style.width);
}

std::string change_text(const TuneReport& report, const Style& style) {
  if (report.changes.empty()) return "";
  const bool is_made = report.outcome == Outcome::deployed;
  std::string text = heading(is_made ? "The change that was made" : "The change", style);
  const std::string toml = tune::to_toml(report.changes);
  for (std::size_t at = 0; at < toml.size();) {
    const std::size_t end = std::min(toml.find('\n', at), toml.size());
    text += "  " + keep_whole(printable(toml.substr(at, end - at))) + "\n";
    at = end + 1;
  }
  return text;
}

std::string worth_text(const TuneReport& report, const Style& style) {
  if (report.outcome == Outcome::planned && !report.worth) return "";
  if (!report.worth) {
    if (report.why_no_worth.empty()) return "";
    return heading("What a GPU would be worth", style) +
           fold(report.why_no_worth +
                    "; --faster, --gpu-price, --gpu-watts and --electricity say "
                    "the rest",
                "  ", style.width);
  }
  std::string text = heading("What a GPU would be worth", style);
  for (const std::string& line : arithmetic_of(*report.worth))
    text += fold(line, "  ", style.width);
  return text;
}

std::string steps_text(const std::string& title, const std::vector<findings::Step>& steps,
                       const Style& style) {
  if (steps.empty()) return "";
  std::string text = heading(title, style);
  for (const findings::Step& step : steps)
    text += fold(printable(step.text), step.is_command() ? "  " : "  - ", style.width);
  return text;
}

}  // namespace

std::vector<std::string> arithmetic_of(const tune::Worth& worth) {
  const tune::WorthQuestion& question = worth.question;
  std::vector<std::string> lines = {
      fmt::format("processor: {:.0f} items × {} ms = {:.2f} h a day{}", *question.items_per_day,
                  ms_text(worth.item_ms), worth.cpu_hours,
                  worth.keeps_up() ? "" : ", which is more than a day has"),
      fmt::format("GPU: {:.2f} h / {:g} = {:.2f} h a day; saved: {:.2f} h", worth.cpu_hours,
                  *question.faster, worth.gpu_hours, worth.hours_saved())};
  if (worth.cpu_kwh) {
    lines.push_back(fmt::format("processor: {:.2f} h × {:.0f} W ({}) = {:.3f} kWh a day",
                                worth.cpu_hours, *question.cpu_watts, question.cpu_watts_source,
                                *worth.cpu_kwh));
  }
  if (worth.gpu_kwh) {
    lines.push_back(fmt::format("GPU: {:.2f} h × {:.0f} W = {:.3f} kWh a day", worth.gpu_hours,
                                *question.gpu_watts, *worth.gpu_kwh));
  }
  if (worth.saved_a_day) {
    lines.push_back(fmt::format("electricity: ({:.3f} - {:.3f}) kWh × {:g} = {:.4f} saved a day",
                                *worth.cpu_kwh, *worth.gpu_kwh, *question.electricity,
                                *worth.saved_a_day));
  }
  if (worth.pays_after_days) {
    lines.push_back(fmt::format("it pays after {:g} / {:.4f} = {:.0f} days ({:.1f} years)",
                                *question.gpu_price, *worth.saved_a_day, *worth.pays_after_days,
                                *worth.pays_after_days / 365.25));
  } else {
    lines.push_back("when it pays: " + worth.why_not);
  }
  lines.emplace_back("What either takes while it has nothing to do is not counted.");
  return lines;
}

std::string to_text(const TuneReport& report, const Style& style) {
  std::string text = verdict(report, style);
  if (report.outcome != Outcome::planned) text += reasons(report, style);
  if (report.outcome == Outcome::planned || report.outcome == Outcome::kept)
    text += space_text(report, style);
  if (report.outcome == Outcome::planned) text += plan_text(report, style);
  text += tried_text(report, style) + change_text(report, style) + worth_text(report, style);
  if (!report.warnings.empty()) text += heading("Good to know", style);
  for (const std::string& warning : report.warnings)
    text += fold(printable(warning), "  - ", style.width);
  text += steps_text("Still to be done by hand", report.left, style);
  if (!report.next.empty()) {
    const findings::Step& last = report.next.back();
    if (last.is_command())
      text += "\n" + next_line(printable(last.text), printable(last.remark), style);
  }
  return fit(text, style.width);
}

}  // namespace headroom::report
