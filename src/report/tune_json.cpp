// SPDX-License-Identifier: Apache-2.0
// headroom.tune/1.
#include <cmath>

#include <nlohmann/json.hpp>

#include "report/cause_json.h"
#include "report/deploy_report.h"
#include "report/tune_report.h"

namespace headroom::report {
namespace {

using Ordered = nlohmann::ordered_json;
using tune::TuneReport;

// To the millionth of a second, and of a day: more is noise.
Ordered rounded(const std::optional<double>& value) {
  return value ? Ordered(std::round(*value * 1000) / 1000) : Ordered(nullptr);
}

Ordered text_or_null(const std::string& text) {
  return text.empty() ? Ordered(nullptr) : Ordered(text);
}

Ordered settings_json(const tune::Space& space, std::size_t point) {
  Ordered settings = Ordered::object();
  for (const auto& [name, value] : space.settings_of(space.points[point])) settings[name] = value;
  return settings;
}

Ordered tried_json(const TuneReport& report) {
  Ordered list = Ordered::array();
  for (const tune::Tried& one : report.tried) {
    list.push_back({{"settings", settings_json(report.space, one.point)},
                    {"present", report.space.present == one.point},
                    {"ms", rounded(one.ms)},
                    {"peak_bytes", one.peak ? Ordered(one.peak->value) : Ordered(nullptr)},
                    {"requests", one.requests},
                    {"why", text_or_null(one.why)}});
  }
  return list;
}

Ordered gpu_json(const TuneReport& report) {
  if (!report.worth) return nullptr;
  const tune::Worth& worth = *report.worth;
  return {{"hours_saved_per_day", rounded(worth.hours_saved())},
          {"pays_after_days", rounded(worth.pays_after_days)},
          {"cpu_hours_per_day", rounded(worth.cpu_hours)},
          {"gpu_hours_per_day", rounded(worth.gpu_hours)},
          {"cpu_kwh_per_day", rounded(worth.cpu_kwh)},
          {"gpu_kwh_per_day", rounded(worth.gpu_kwh)},
          {"saved_per_day", rounded(worth.saved_a_day)},
          {"arithmetic", arithmetic_of(worth)}};
}

// Why a value that may be null is; by JSON pointer.
Ordered missing_json(const TuneReport& report) {
  Ordered missing = Ordered::object();
  const bool untouched = report.outcome == tune::Outcome::planned;
  const std::string why = untouched ? report.why : "it was not measured";
  if (!report.best) missing["/best"] = untouched ? report.why : "no setting passed the smoke test";
  if (!report.baseline.ms) missing["/baseline_ms"] = why;
  if (!report.best_ms()) missing["/best_ms"] = untouched ? report.why : "there is no best one";
  if (!report.worth && !report.why_no_worth.empty()) missing["/gpu"] = report.why_no_worth;
  if (report.worth && !report.worth->pays_after_days)
    missing["/gpu/pays_after_days"] = report.worth->why_not;
  return missing;
}

Ordered space_json(const TuneReport& report) {
  Ordered axes = Ordered::array();
  for (const tune::Axis& axis : report.space.axes) {
    const deploy::TuneSetting& setting = axis.setting;
    axes.push_back({{"name", setting.name},
                    {"as", deploy::to_string(setting.as)},
                    {"file", setting.file},
                    {"values", setting.values},
                    {"now", axis.now ? Ordered(setting.values[*axis.now]) : Ordered(nullptr)},
                    {"role", deploy::to_string(setting.role)},
                    {"source", text_or_null(axis.source)}});
  }
  return axes;
}

}  // namespace

Ordered to_json(const TuneReport& report) {
  const bool is_over = report.outcome == tune::Outcome::deployed;
  return {{"schema", "headroom.tune/1"},
          {"name", report.name},
          {"outcome", tune::to_string(report.outcome)},
          {"cause", report.cause ? cause_json(*report.cause) : Ordered(nullptr)},
          {"why", text_or_null(report.why)},
          {"best", report.best ? settings_json(report.space, *report.best) : Ordered(nullptr)},
          {"baseline_ms", rounded(report.baseline.mean_ms())},
          {"best_ms", rounded(report.best_ms())},
          {"noise", rounded(report.baseline.noise())},
          {"settings", space_json(report)},
          {"combinations", report.space.points.size()},
          {"tried", tried_json(report)},
          {"too_large", report.too_large},
          {"starts", report.starts},
          {"most_starts", report.most_starts},
          {"requests", report.requests},
          {"most_requests", report.most_requests},
          {"measurements", report.measurements},
          {"most_measurements", report.most_measurements},
          {"exhaustive_measurements", report.exhaustive},
          {"memory_limit_bytes", report.memory ? Ordered(report.memory->value) : Ordered(nullptr)},
          {"seconds", rounded(report.seconds)},
          {"change", text_or_null(tune::to_toml(report.changes))},
          {"change_id", is_over ? text_or_null(report.deployed->change_id) : Ordered(nullptr)},
          {"restored", report.restored ? Ordered(*report.restored) : Ordered(nullptr)},
          {"deployed", report.deployed ? to_json(*report.deployed) : Ordered(nullptr)},
          {"gpu", gpu_json(report)},
          {"left", findings::texts_of(report.left)},
          {"next", findings::texts_of(report.next)},
          {"warnings", report.warnings},
          {"missing", missing_json(report)}};
}

}  // namespace headroom::report
