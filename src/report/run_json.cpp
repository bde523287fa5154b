// SPDX-License-Identifier: Apache-2.0
#include "report/run_json.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/cause_json.h"
#include "report/check_json.h"

namespace headroom::report {
namespace {

using Ordered = nlohmann::ordered_json;
using supervisor::Attempt;
using supervisor::RunReport;

class Writer {
 public:
  explicit Writer(const RunUnknowns& unknowns) : unknowns_(unknowns) {}

  Ordered write(const RunReport& report) {
    Ordered document;
    document["schema"] = "headroom.run/1";
    document["name"] = report.name;
    document["outcome"] = to_string(report.outcome);
    document["exit_code"] = report.exit.code;
    document["signal"] = optional(report.exit.signal);
    document["limited_by"] =
        report.limited_by.empty() ? Ordered(nullptr) : Ordered(report.limited_by);
    document["attempts"] = Ordered::array();
    for (std::size_t i = 0; i < report.attempts.size(); ++i)
      document["attempts"].push_back(
          write_attempt(report.attempts[i], fmt::format("/attempts/{}", i)));
    document["next_change"] =
        report.next_change ? write_settings(*report.next_change) : Ordered(nullptr);
    document["left_behind"] = Ordered::array();
    for (const supervisor::LeftBehind& one : report.left_behind)
      document["left_behind"].push_back(
          {{"pid", one.pid}, {"command", one.command}, {"ended", one.ended}});
    document["warnings"] = report.warnings;
    document["missing"] = Ordered::object();
    for (const auto& [pointer, why] : missing_) document["missing"][pointer] = why;
    return document;
  }

 private:
  template <class T>
  static Ordered optional(const std::optional<T>& value) {
    return value ? Ordered(*value) : Ordered(nullptr);
  }

  static Ordered write_settings(const supervisor::Settings& settings) {
    Ordered object = Ordered::object();
    if (settings.micro) object["micro"] = *settings.micro;
    if (settings.accumulate) object["accumulate"] = *settings.accumulate;
    return object;
  }

  static Ordered write_cause(const supervisor::AttemptCause& cause) {
    // As headroom.check/1 has it: the same id is the same thing.
    findings::Cause shown;
    shown.id = cause.id;
    shown.title = cause.title;
    shown.confidence = cause.confidence;
    shown.evidence = cause.evidence;
    shown.fix = cause.fix;
    Ordered object = cause_json(shown);
    object.erase("reasons");
    object.erase("against");
    return object;
  }

  Ordered write_attempt(const Attempt& attempt, const std::string& at) {
    Ordered object;
    object["command"] = attempt.command;
    object["settings"] = write_settings(attempt.settings);
    object["exit_code"] = attempt.exit.code;
    object["signal"] = optional(attempt.exit.signal);
    object["duration_s"] = static_cast<double>(attempt.duration.count()) / 1000.0;
    object["ended_by"] = to_string(attempt.ended_by);
    object["out_of_memory"] = attempt.out_of_memory;
    object["cause"] = attempt.cause ? write_cause(*attempt.cause) : Ordered(nullptr);
    object["peak"] = write_peak(attempt.peak, at + "/peak");
    return object;
  }

  Ordered write_peak(const supervisor::Peak& peak, const std::string& at) {
    const std::string too_short = "it ended before it could be measured";
    Ordered object;
    object["rss_bytes"] = amount(peak.rss, at + "/rss_bytes", too_short);
    object["cgroup_bytes"] = amount(peak.cgroup, at + "/cgroup_bytes", unknowns_.no_group_peak);
    object["vram_bytes"] = amount(peak.vram, at + "/vram_bytes", unknowns_.no_gpu_memory);
    object["gtt_bytes"] = amount(peak.gtt, at + "/gtt_bytes", unknowns_.no_gpu_memory);
    return object;
  }

  Ordered amount(const std::optional<Bytes>& bytes, const std::string& at, const std::string& why) {
    if (bytes) return bytes->value;
    missing_[at] = why.empty() ? "it ended before it could be measured" : why;
    return nullptr;
  }

  const RunUnknowns& unknowns_;
  std::map<std::string, std::string> missing_;  // JSON pointer → reason.
};

}  // namespace

std::string to_json_text(const RunReport& report, const RunUnknowns& unknowns) {
  return to_text(Writer(unknowns).write(report));
}

}  // namespace headroom::report
