// SPDX-License-Identifier: Apache-2.0
// Trials of a service with other settings: each is a deployment that is measured and taken back
// (deploy::Trial). Between them the service is stopped, with a record from which anyone brings it
// back; at the end bring_back() does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/deployer.h"
#include "machine/services/held_signals.h"
#include "service/workplace.h"
#include "tune/search.h"

namespace headroom::service {

struct TrialTerms {
  std::optional<std::string> body;  // Of the requests.
  std::optional<Bytes> memory;      // A trial that takes more ends.
};

// One thread. Requires: the workplace has its lock and has begun to act. Both outlive this.
class Trials {
 public:
  Trials(Workplace& place, machine::HeldSignals& signals, TrialTerms terms);

  // The whole smoke test of what runs now. With a fault, or ended by a signal, it is no baseline.
  Result<deploy::SmokeRun> measure_present();
  // Requires: measure_present() passed. Fails where the machine could not be looked at, or goes
  // down.
  Result<tune::Measured> try_changes(const std::vector<deploy::FileChange>& changes,
                                     std::uint64_t requests);
  // Starts and proves the old configuration if a trial has stopped it: the report of that; nothing
  // where none has.
  Result<std::optional<deploy::DeployReport>> bring_back();
  // Deploys changes for good, with the proof and the watch of SERVICE.toml; slower is not kept.
  Result<deploy::DeployReport> deploy(const std::vector<deploy::FileChange>& changes);

  // The signal that somebody sent; empty: none.
  const std::string& ended_by() const { return ended_by_; }
  // What makes further trials pointless; empty: nothing.
  const std::string& trouble() const { return trouble_; }
  bool is_over() const { return !ended_by_.empty() || !trouble_.empty(); }

 private:
  const DeployOrder& order() const { return place_.order(); }
  Result<deploy::DeployReport> run(const deploy::ServiceSpec& spec,
                                   const deploy::ServiceSpec& gate_spec,
                                   const deploy::Options& options);
  tune::Measured to_measured(const deploy::DeployReport& report, std::uint64_t requests);

  Workplace& place_;
  machine::HeldSignals& signals_;
  TrialTerms terms_;
  std::string folder_;
  deploy::SmokeRun baseline_;
  bool is_stopped_ = false;
  std::string ended_by_, trouble_;
};

}  // namespace headroom::service
