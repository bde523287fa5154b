// SPDX-License-Identifier: Apache-2.0
#include "report/top_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text.h"
#include "facts/free_now.h"
#include "report/cause_text.h"
#include "report/ladder_text.h"
#include "report/machine_summary.h"
#include "report/utc_time.h"

namespace headroom::report {
namespace {

using Lines = std::vector<std::string>;
using facts::Fact;
using facts::Gpu;

constexpr std::size_t name_width = 8;  // "memory", "free", …
constexpr double nearly_full = 0.95;
constexpr double filling = 0.80;

// "[########......]", its share of `width` filled.
std::string bar(double share, std::size_t width, const Style& style) {
  const double bounded = std::clamp(share, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(std::lround(bounded * static_cast<double>(width)));
  const std::string filled(full, '#');
  const std::string shown = share >= nearly_full ? style.red(filled)
                            : share >= filling   ? style.yellow(filled)
                                                 : style.green(filled);
  return "[" + shown + std::string(width - full, '.') + "]";
}

std::size_t bar_width(const Style& style) {
  return std::clamp<std::size_t>(style.width / 3, 10, 40);
}

std::string row(std::string_view name, const std::string& text) {
  return fmt::format("  {:<{}}{}", name, name_width, text);
}

std::string rung_note(const Gpu& gpu, std::string_view rung) {
  const auto meaning = rung_meaning(rung, gpu.integrated && *gpu.integrated);
  return meaning.empty() ? std::string(rung) : fmt::format("{}: {}", rung, meaning);
}

// How full the limit is that a job meets first.
std::string memory_row(const Gpu& gpu, const Style& style) {
  const facts::Rung* binding = gpu.ladder.binding();
  if (binding == nullptr || !binding->limit) return row("memory", "its limits could not be read");
  if (!binding->used) {
    return row("memory",
               fmt::format("{}; what is in use is not known", to_string(*binding->limit)));
  }
  const auto limit = static_cast<double>(binding->limit->value);
  const double share = limit > 0 ? static_cast<double>(binding->used->value) / limit : 1;
  return row("memory",
             fmt::format("{} {} of {} in use ({:.0f} %)", bar(share, bar_width(style), style),
                         to_string(*binding->used), to_string(*binding->limit), 100 * share));
}

std::string free_row(const Gpu& gpu) {
  const auto free = facts::find_free_now(gpu.ladder);
  if (!free) return row("free", "not known");
  return row("free", fmt::format("{} for a job that starts now  ({})", to_string(free->bytes),
                                 rung_note(gpu, free->rung)));
}

std::string temperatures(const facts::GpuSensors& sensors) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : {std::pair{"edge", sensors.edge_millicelsius},
                                    std::pair{"junction", sensors.junction_millicelsius},
                                    std::pair{"memory", sensors.memory_millicelsius}}) {
    if (value) parts.push_back(fmt::format("{} {:.0f}", name, static_cast<double>(*value) / 1e3));
  }
  return parts.empty() ? "" : join(parts, ", ") + " °C";
}

std::string busy_row(const facts::GpuSensors& sensors, const Style& style) {
  std::vector<std::string> parts;
  if (sensors.power_microwatts) {
    parts.push_back(fmt::format("{:.0f} W", static_cast<double>(*sensors.power_microwatts) / 1e6));
  }
  if (const std::string degrees = temperatures(sensors); !degrees.empty()) parts.push_back(degrees);
  if (sensors.core_hertz) {
    parts.push_back(fmt::format("{} MHz", *sensors.core_hertz / 1'000'000));
  }
  std::string busy = "not known";
  if (sensors.busy_percent) {
    const auto percent = std::min<std::uint64_t>(*sensors.busy_percent, 100);
    const Style calm{false, style.width};  // Busy is what it is for: no alarm.
    busy = fmt::format("{} {} %", bar(static_cast<double>(percent) / 100, bar_width(style), calm),
                       percent);
  }
  return row("busy", parts.empty() ? busy : busy + "   " + join(parts, "   "));
}

std::string engines_of(const facts::Holder& holder, const Gpu& gpu, const live::Moment& moment) {
  const auto process = moment.engines.find(holder.pid);
  if (process == moment.engines.end()) return "";
  const auto share = process->second.find(gpu.pci);
  return share == process->second.end() ? "" : fmt::format("{:.0f} %", 100 * share->second);
}

std::string place_of(const facts::Holder& holder) {
  if (holder.whereabouts == facts::Whereabouts::gone) return "gone: headroom reclaim";
  if (holder.whereabouts == facts::Whereabouts::outside) return "not visible here";
  if (!holder.container.empty()) return "container " + holder.container;
  return holder.unit;
}

Lines holder_lines(const Gpu& gpu, const live::Moment& moment, const Style& style,
                   std::size_t most) {
  if (gpu.holders.empty()) return {row("holders", "none that can be seen")};
  const auto amount = [](const std::optional<Bytes>& bytes) {
    return bytes ? to_string(*bytes) : std::string("-");
  };
  std::vector<std::vector<std::string>> rows = {
      {"PID", "user", "VRAM", "GTT", "engines", "command", "where"}};
  const std::size_t shown = std::min(gpu.holders.size(), most);
  for (std::size_t index = 0; index < shown; ++index) {
    const facts::Holder& holder = gpu.holders[index];
    rows.push_back({std::to_string(holder.pid), shorten(printable(holder.user), 12),
                    amount(holder.vram), amount(holder.gtt), engines_of(holder, gpu, moment),
                    holder.command.empty() ? "?" : shorten(printable(holder.command), 24),
                    shorten(printable(place_of(holder)), 40)});
  }
  Lines lines = align(rows, {Align::right, Align::left, Align::right, Align::right, Align::right,
                             Align::left, Align::left});
  for (std::string& line : lines) line = "  " + line;
  lines.front() = style.dim(lines.front());
  if (shown < gpu.holders.size()) {
    lines.push_back(style.dim(fmt::format("  … and {} more", gpu.holders.size() - shown)));
  }
  return lines;
}

Lines gpu_lines(const live::Moment& moment, std::size_t index, const Style& style,
                std::size_t most_holders) {
  const Gpu& gpu = moment.facts.gpus[index];
  Lines lines = {style.bold(printable(gpu.name)) + "  " + style.dim(gpu.pci)};
  if (gpu.asleep()) {
    lines.push_back(row("asleep", "headroom does not wake it"));
    return lines;
  }
  lines.push_back(memory_row(gpu, style));
  lines.push_back(free_row(gpu));
  if (index < moment.sensors.size()) lines.push_back(busy_row(moment.sensors[index], style));
  const Lines holders = holder_lines(gpu, moment, style, most_holders);
  lines.insert(lines.end(), holders.begin(), holders.end());
  return lines;
}

// `whole`: where nothing is cut off, a line may go on in the next.
Lines finding_lines(const live::Moment& moment, const Style& style, bool whole) {
  Lines lines;
  for (const findings::Finding& finding : moment.diagnosis.findings) {
    if (finding.severity == findings::Severity::info) continue;
    const bool error = finding.severity == findings::Severity::error;
    const std::string word = fmt::format("{:<9}", to_string(finding.severity));
    const std::size_t left = style.width - std::min<std::size_t>(style.width - 1, word.size() + 2);
    std::string title = printable(finding.title);
    if (moment.facts.gpus.size() > 1 && !finding.gpu.empty())
      title = printable(finding.gpu) + "  " + title;
    lines.push_back("  " + (error ? style.red(word) : style.yellow(word)) +
                    (whole ? title : shorten(title, left)));
  }
  return lines;
}

Lines all_lines(const live::Moment& moment, const Style& style, std::size_t most_holders,
                bool whole) {
  std::string summary = machine_summary(moment.facts, moment.diagnosis);
  if (!whole) summary = shorten(summary, style.width > 60 ? style.width - 40 : 20);
  Lines lines = {style.bold("headroom top") + "  " + utc_time(moment.since_1970) + "  " + summary};
  for (std::size_t index = 0; index < moment.facts.gpus.size(); ++index) {
    lines.emplace_back();
    const Lines more = gpu_lines(moment, index, style, most_holders);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  const Lines found = finding_lines(moment, style, whole);
  if (!found.empty()) {
    lines.emplace_back();
    lines.insert(lines.end(), found.begin(), found.end());
    lines.push_back(
        style.dim("  " + for_root("headroom check", moment.root) + "   says what to do"));
  }
  return lines;
}

}  // namespace

std::string top_text(const live::Moment& moment, const Style& style, std::size_t rows) {
  std::size_t most = 0;
  for (const Gpu& gpu : moment.facts.gpus) most = std::max(most, gpu.holders.size());
  const bool whole = rows == 0;
  Lines lines = all_lines(moment, style, most, whole);
  while (rows > 0 && lines.size() > rows && most > 1) {
    // One more at the end says how many are left out.
    most = most > 8 ? most * 3 / 4 : most - 1;
    lines = all_lines(moment, style, most, whole);
  }
  return join(lines, "\n") + "\n";
}

}  // namespace headroom::report
