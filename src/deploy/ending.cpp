// SPDX-License-Identifier: Apache-2.0
// The deployer's records, its timeline and its report.
#include <fmt/format.h>

#include <algorithm>

#include "base/shell_quote.h"
#include "deploy/machine.h"

namespace headroom::deploy {

void Deployer::Machine::refuse(std::optional<findings::Cause> cause, const std::string& why) {
  record_.cause = std::move(cause);
  record_.why = record_.cause ? "" : why;
  note("refused: " + why + "; nothing was changed");
  finish(Outcome::refused, std::nullopt);
}

void Deployer::Machine::finish(Outcome outcome, std::optional<bool> restored) {
  record_.outcome = outcome;
  record_.restored = restored;
  record_.ended = now_;
  if (smokes_) act(action::CancelSmoke{});
  if (observes_) act(action::StopObserving{});
  phase_ = Phase::over;
  // After a trial the record goes on to say what is left to do.
  if (options_.apply && !options_.trial) enter(Stage::over);
  act(action::Finish{report()});
}

void Deployer::Machine::enter(Stage stage) {
  record_.stage = stage;
  act(action::Keep{record_, !records_fail_ && stage != Stage::over});
}

void Deployer::Machine::note(std::string event) {
  record_.timeline.push_back({now_, std::move(event)});
}

void Deployer::Machine::note_failure() {
  if (!record_.first_failure) record_.first_failure = now_;
}

void Deployer::Machine::say(std::string text, std::string next) {
  act(action::Say{std::move(text), std::move(next)});
}

// From the candidate's first failure; where it never was healthy, from the stop before its start.
std::optional<double> Deployer::Machine::downtime_s() const {
  if (record_.outcome != Outcome::rolled_back || !record_.was_running) return std::nullopt;
  const auto from = seen_.was_healthy ? record_.first_failure : record_.stopped;
  if (!from) return std::nullopt;
  return static_cast<double>((*record_.ended - *from).count()) / 1000;
}

DeployReport Deployer::Machine::report() const {
  DeployReport report;
  report.name = record_.name;
  report.outcome = *record_.outcome;
  report.cause = record_.cause;
  report.why = record_.why;
  report.gate = gate_;
  report.began = record_.began;
  report.timeline = record_.timeline;
  if (record_.baseline) report.baseline_ms = record_.baseline->median_ms();
  report.candidate_ms = record_.candidate_ms;
  if (report.baseline_ms && report.candidate_ms && *report.candidate_ms > 0) {
    report.ratio = *report.baseline_ms / *report.candidate_ms;
  }
  report.downtime_s = downtime_s();
  report.restored = record_.restored;
  report.change_id = record_.change_id;
  report.left = left_;
  report.next = next_steps();
  report.warnings = warnings_;
  report.ended_by = ended_by_;
  if (seen_.smoke) report.candidate_requests_ms = seen_.smoke->ms;
  report.restored_requests_ms = restored_requests_ms_;
  report.memory_peak = seen_.memory_peak;
  return report;
}

std::vector<findings::Step> Deployer::Machine::next_steps() const {
  const Outcome outcome = *record_.outcome;
  const std::string& again = options_.again;
  std::vector<findings::Step> steps;
  if (outcome == Outcome::tried) return steps;
  if (outcome == Outcome::committed) {
    if (!record_.change_id.empty()) {
      steps.push_back(findings::command("headroom undo " + shell_quote(record_.change_id),
                                        "(puts the old configuration back, at any time)"));
    }
    return steps;
  }
  if (outcome == Outcome::planned) {
    if (!options_.to_apply.empty()) steps.push_back(findings::command(options_.to_apply));
    return steps;
  }
  if (record_.cause) steps = record_.cause->fix;
  if (!again.empty()) steps.push_back(findings::command(again, "(once that is fixed)"));
  return steps;
}

}  // namespace headroom::deploy
