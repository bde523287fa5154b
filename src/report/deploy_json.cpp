// SPDX-License-Identifier: Apache-2.0
// headroom.deploy/1, of a deployment that is over and of one that is under way.
#include <cmath>

#include <nlohmann/json.hpp>

#include "report/cause_json.h"
#include "report/deploy_report.h"

namespace headroom::report {
namespace {

using Ordered = nlohmann::ordered_json;

// To the millisecond, or the thousandth: more is noise.
Ordered rounded(const std::optional<double>& value) {
  return value ? Ordered(std::round(*value * 1000) / 1000) : Ordered(nullptr);
}

Ordered text_or_null(const std::string& text) {
  return text.empty() ? Ordered(nullptr) : Ordered(text);
}

Ordered cause_or_null(const std::optional<findings::Cause>& cause) {
  return cause ? cause_json(*cause) : Ordered(nullptr);
}

Ordered timeline_json(const std::vector<deploy::TimelineEntry>& timeline, deploy::Time began) {
  Ordered list = Ordered::array();
  for (const deploy::TimelineEntry& entry : timeline) {
    list.push_back({{"t_s", static_cast<double>((entry.when - began).count()) / 1000},
                    {"event", entry.event}});
  }
  return list;
}

Ordered gate_json(const deploy::Gate& gate) {
  using Answer = deploy::GateCheck::Answer;
  Ordered list = Ordered::array();
  for (const deploy::GateCheck& check : gate.checks) {
    list.push_back(
        {{"name", check.name},
         {"passed", check.answer == Answer::unknown ? Ordered(nullptr)
                                                    : Ordered(check.answer == Answer::passed)},
         {"says", check.says}});
  }
  return list;
}

// Why a value that may be null is; by JSON pointer.
Ordered missing_json(const deploy::DeployReport& report) {
  Ordered missing = Ordered::object();
  const bool over = report.outcome == deploy::Outcome::committed ||
                    report.outcome == deploy::Outcome::rolled_back;
  const std::string not_asked =
      over ? "no request was answered correctly" : "nothing was started, so no request was made";
  if (!report.baseline_ms)
    missing["/smoke/baseline_ms"] = over ? "the service did not run before" : not_asked;
  if (!report.candidate_ms) missing["/smoke/candidate_ms"] = not_asked;
  if (!report.ratio) missing["/smoke/ratio"] = "it needs the times of both configurations";
  if (!report.downtime_s)
    missing["/downtime_s"] = over ? "no failure took it down" : "it was not changed";
  return missing;
}

}  // namespace

Ordered to_json(const deploy::DeployReport& report) {
  return {{"schema", "headroom.deploy/1"},
          {"name", report.name},
          {"outcome", deploy::to_string(report.outcome)},
          {"cause", cause_or_null(report.cause)},
          {"why", text_or_null(report.why)},
          {"gate", gate_json(report.gate)},
          {"timeline", timeline_json(report.timeline, report.began)},
          {"smoke",
           {{"baseline_ms", rounded(report.baseline_ms)},
            {"candidate_ms", rounded(report.candidate_ms)},
            {"ratio", rounded(report.ratio)}}},
          {"downtime_s", rounded(report.downtime_s)},
          {"restored", report.restored ? Ordered(*report.restored) : Ordered(nullptr)},
          {"change", text_or_null(report.change_id)},
          {"left", findings::texts_of(report.left)},
          {"next", findings::texts_of(report.next)},
          {"warnings", report.warnings},
          {"postmortem", text_or_null(report.postmortem)},
          {"missing", missing_json(report)}};
}

Ordered to_json(const deploy::Record& record) {
  const bool over = record.stage == deploy::Stage::over;
  return {
      {"schema", "headroom.deploy-status/1"},
      {"name", record.name},
      {"spec", record.spec},
      {"stage", deploy::to_string(record.stage)},
      {"under_way", !over},
      {"outcome", record.outcome ? Ordered(deploy::to_string(*record.outcome)) : Ordered(nullptr)},
      {"cause", cause_or_null(record.cause)},
      {"why", text_or_null(record.why)},
      {"timeline", timeline_json(record.timeline, record.began)},
      {"restored", record.restored ? Ordered(*record.restored) : Ordered(nullptr)},
      {"change", text_or_null(record.change_id)}};
}

}  // namespace headroom::report
