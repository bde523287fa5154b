// SPDX-License-Identifier: Apache-2.0
// Does what the deployer (deploy/deployer.h) says, with real files, processes and requests, and
// tells it what came of it. Nothing is decided here.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "deploy/deployer.h"
#include "machine/services/held_signals.h"
#include "machine/services/kernel_log.h"
#include "machine/services/service.h"
#include "plan/change.h"
#include "service/ask.h"
#include "service/boot_unit.h"
#include "service/gpu_look.h"
#include "service/log_look.h"
#include "service/machine_look.h"
#include "service/places.h"
#include "service/service_change.h"

namespace headroom::service {

// What a driver works with; all of it outlives the driver. `service`, `asker`, `change_engine` and
// `places` are null where nothing is to be done but to ask the gate.
struct Workshop {
  const deploy::ServiceSpec& spec;
  const MachineLook& machine;
  const GateQuestion& gate;
  const plan::Change& change;
  const LogLook& logs;
  machine::Service* service = nullptr;
  const Asker* asker = nullptr;
  ServiceChange* change_engine = nullptr;
  const Places* places = nullptr;
  BootUnit* boot_unit = nullptr;  // Null where nothing finishes a roll-back at boot.
  std::function<void(const std::string& text, const std::string& next)> say = {};
  std::function<void(std::string_view step)> before_each = {};  // For tests; may be empty.
  // Where whoever runs several drivers holds the signals meanwhile; null: the driver does.
  machine::HeldSignals* signals = nullptr;
  // Going back is worth a post-mortem, except at the end of trials that went as they should.
  bool files_postmortem = true;
};

// One thread. While it runs, SIGINT and SIGTERM are events, and SIGHUP is nothing.
class Driver {
 public:
  Driver(Workshop workshop, deploy::Deployer deployer);

  // To the end: the report. Fails where the gate could not be asked: nothing was touched then; and
  // with busy where the system goes down: what was begun is finished at the next boot.
  Result<deploy::DeployReport> run(const deploy::Event& first);

 private:
  void feed(const deploy::Event& event);
  void take_signal(const std::string& name);
  // False: the rest of the list is not to be done.
  bool perform(const deploy::Action& action);
  void wait_a_little();
  void take_smoke(std::uint64_t wait_ms);
  void take_probe(std::uint64_t wait_ms);
  void take_sample(bool now);
  deploy::event::Sample to_sample(const machine::ServiceSample& seen);
  bool log_tells_of_death();
  void answer(deploy::Event event) { events_.push_back(std::move(event)); }

  void look_at_gate();
  void look_at_service();
  bool keep(const deploy::action::Keep& keep);
  void begin_smoke(const deploy::action::RunSmoke& run);
  void end_smoke();
  void stop(const deploy::action::StopService& stop);
  void start();
  void probe(std::uint64_t number);
  void observe(std::uint64_t start);
  void diagnose();
  void finish(deploy::DeployReport report);

  deploy::Time now() const;

  Workshop shop_;
  deploy::Deployer deployer_;
  std::optional<machine::HeldSignals> own_signals_;
  machine::HeldSignals* signals_;
  std::int64_t began_ms_;
  std::uint64_t began_ns_;
  std::deque<deploy::Event> events_;
  std::optional<deploy::DeployReport> report_;
  std::optional<Error> failed_;
  std::optional<deploy::Time> wake_;

  std::unique_ptr<SmokeAsk> smoke_;
  std::optional<GpuLook> gpu_;  // Of the smoke test under way.
  bool smoke_lost_connection_ = false;
  std::unique_ptr<machine::Load> probe_;
  std::uint64_t probe_number_ = 0;

  bool observes_ = false;
  std::uint64_t start_ = 0;
  std::optional<machine::KernelLog> kernel_;
  std::string kernel_text_;
  deploy::Time looked_{0}, told_{0};
  bool was_running_ = true;
  bool saw_death_ = false;
  std::string told_main_;  // The main process of the last sample that was told of.
  std::vector<machine::ServiceDeath> replaced_;  // Not told of yet.
};

}  // namespace headroom::service
