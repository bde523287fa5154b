// SPDX-License-Identifier: Apache-2.0
#include "service/trials.h"

#include <algorithm>
#include <utility>

namespace headroom::service {
namespace {

constexpr std::uint64_t slice_ms = 50;

std::string why_of(const deploy::DeployReport& report) {
  return report.cause ? report.cause->id + ": " + report.cause->title : report.why;
}

}  // namespace

Trials::Trials(Workplace& place, machine::HeldSignals& signals, TrialTerms terms)
    : place_(place),
      signals_(signals),
      terms_(std::move(terms)),
      folder_(folder_of(place.order().file)) {}

Result<deploy::SmokeRun> Trials::measure_present() {
  HEADROOM_TRY(const auto asker, place_.make_asker(order().spec, folder_, terms_.body));
  deploy::action::RunSmoke smoke;
  smoke.whose = deploy::Whose::baseline;
  const auto run = asker->begin_smoke(smoke);
  while (!run->wait(slice_ms)) {
    const auto signal = signals_.take();
    if (!signal) continue;
    ended_by_ = *signal;
    run->cancel();
    return deploy::SmokeRun{};
  }
  baseline_ = run->take();
  return baseline_;
}

Result<deploy::DeployReport> Trials::run(const deploy::ServiceSpec& spec,
                                         const deploy::ServiceSpec& gate_spec,
                                         const deploy::Options& options) {
  HEADROOM_TRY(const auto change, read_change(spec, folder_, nullptr, order().words));
  HEADROOM_TRY(const auto asker, place_.make_asker(spec, folder_, terms_.body));
  const GateQuestion gate{gate_spec, folder_, order().state, change, place_.service()};
  Workshop shop = place_.workshop(spec, gate, change);
  shop.asker = asker.get();
  shop.places = &place_.places();
  shop.signals = &signals_;
  Driver driver(std::move(shop), deploy::Deployer(spec, options));
  return driver.run(deploy::event::Begin{});
}

Result<tune::Measured> Trials::try_changes(const std::vector<deploy::FileChange>& changes,
                                           std::uint64_t requests) {
  deploy::ServiceSpec spec = order().spec;
  spec.changes = changes;
  spec.smoke.repeat = requests;
  spec.smoke.concurrency = std::min(spec.smoke.concurrency, requests);
  spec.expect = {};
  // The gate would ask for all of the memory beside what the stopped service held.
  const deploy::ServiceSpec gate_spec = spec;
  spec.expect.memory = terms_.memory;
  deploy::Options options = place_.options(order().file);
  options.trial = deploy::Trial{baseline_, is_stopped_};
  HEADROOM_TRY(const auto report, run(spec, gate_spec, options));
  return to_measured(report, requests);
}

tune::Measured Trials::to_measured(const deploy::DeployReport& report, std::uint64_t requests) {
  using End = tune::Measured::End;
  tune::Measured measured;
  measured.requests_ms = report.candidate_requests_ms;
  measured.peak = report.memory_peak;
  ended_by_ = report.ended_by;
  const bool is_whole = measured.requests_ms.size() == requests;
  if (report.outcome != deploy::Outcome::refused) is_stopped_ = true;
  if (report.outcome == deploy::Outcome::tried && !report.cause && is_whole && ended_by_.empty())
    return measured;
  measured.end = report.cause && report.cause->id == "memory-growth" ? End::memory : End::failed;
  measured.why = why_of(report);
  // It was not the setting that failed where it was not even started, or where there is no cause:
  // somebody stopped the service, or the files or records could not be written. It would be the
  // same with the next one.
  const bool is_blameless = report.outcome != deploy::Outcome::tried || !report.cause;
  if (is_blameless && ended_by_.empty()) trouble_ = measured.why;
  return measured;
}

Result<std::optional<deploy::DeployReport>> Trials::bring_back() {
  if (!is_stopped_) return std::optional<deploy::DeployReport>();
  HEADROOM_TRY(const auto record, place_.places().read_record());
  if (!record || !deploy::needs_finishing(*record)) return std::optional<deploy::DeployReport>();
  HEADROOM_TRY(auto done, place_.resume(*record, &signals_));
  is_stopped_ = false;
  if (!done.report.ended_by.empty()) ended_by_ = done.report.ended_by;
  return std::optional(std::move(done.report));
}

Result<deploy::DeployReport> Trials::deploy(const std::vector<deploy::FileChange>& changes) {
  deploy::ServiceSpec spec = order().spec;
  spec.changes = changes;
  spec.expect.gpu = false;
  spec.expect.faster = 1;
  return run(spec, spec, place_.options(order().file));
}

}  // namespace headroom::service
