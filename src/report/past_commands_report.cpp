// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/document.h"
#include "base/text.h"
#include "report/past_runs_report.h"
#include "report/style.h"

namespace headroom::report {
namespace {

using supervisor::PastCommand;

std::string amount(const std::optional<Bytes>& bytes) {
  return bytes ? to_string(*bytes) : "-";
}

std::optional<Bytes> memory_peak(const PastCommand& past) {
  return past.peak.cgroup ? past.peak.cgroup : past.peak.rss;
}

std::string settings_text(const PastCommand& past) {
  std::vector<std::string> parts;
  if (past.settings.micro) parts.push_back(fmt::format("micro {}", *past.settings.micro));
  if (past.settings.accumulate)
    parts.push_back(fmt::format("accumulate {}", *past.settings.accumulate));
  return parts.empty() ? "-" : join(parts, ", ");
}

std::string outcome_text(const PastCommand& past) {
  if (past.out_of_memory) return "out of memory";
  if (past.exit.signal) return fmt::format("signal {}", *past.exit.signal);
  return past.exit.code == 0 ? "completed" : fmt::format("exit code {}", past.exit.code);
}

Json number_or_null(const std::optional<std::uint64_t>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json bytes_or_null(const std::optional<Bytes>& bytes) {
  return bytes ? Json(bytes->value) : Json(nullptr);
}

}  // namespace

std::string past_commands_to_text(const std::vector<PastCommand>& attempts, std::size_t width) {
  if (attempts.empty()) return "";
  std::vector<std::vector<std::string>> rows = {
      {"when", "command", "settings", "limit", "peak", "VRAM", "GTT", "outcome"}};
  for (const PastCommand& past : attempts) {
    rows.push_back({printable(past.time), shorten(printable(past.name), 28), settings_text(past),
                    amount(past.memory), amount(memory_peak(past)), amount(past.peak.vram),
                    amount(past.peak.gtt), outcome_text(past)});
  }
  using enum Align;
  std::string text = "\nSupervised commands, by attempt:\n";
  for (const TableLine& line :
       table(rows, {left, left, left, right, right, right, right, left}, 0, width))
    text += line.text + "\n";
  return fit(text, width);
}

Json past_commands_to_json(const std::vector<PastCommand>& attempts) {
  Json rows = Json::array();
  for (const PastCommand& past : attempts) {
    rows.push_back({{"time", past.time},
                    {"headroom", past.headroom},
                    {"name", past.name},
                    {"command", past.command},
                    {"memory_bytes", bytes_or_null(past.memory)},
                    {"devices", past.devices},
                    {"attempt", past.attempt},
                    {"micro", number_or_null(past.settings.micro)},
                    {"accumulate", number_or_null(past.settings.accumulate)},
                    {"exit_code", past.exit.code},
                    {"signal", past.exit.signal ? Json(*past.exit.signal) : Json(nullptr)},
                    {"out_of_memory", past.out_of_memory},
                    {"cause", past.cause.empty() ? Json(nullptr) : Json(past.cause)},
                    {"duration_s", static_cast<double>(past.duration_ms) / 1000.0},
                    {"peak",
                     {{"rss_bytes", bytes_or_null(past.peak.rss)},
                      {"cgroup_bytes", bytes_or_null(past.peak.cgroup)},
                      {"vram_bytes", bytes_or_null(past.peak.vram)},
                      {"gtt_bytes", bytes_or_null(past.peak.gtt)}}}});
  }
  return rows;
}

}  // namespace headroom::report
