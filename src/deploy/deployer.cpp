// SPDX-License-Identifier: Apache-2.0
// The deployer's outside, and the events that both ways have, there and back.
#include "deploy/deployer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/require.h"
#include "deploy/machine.h"

namespace headroom::deploy {

Deployer::Deployer(ServiceSpec spec, Options options)
    : machine_(std::make_unique<Machine>(std::move(spec), std::move(options))) {}

Deployer::Deployer(std::unique_ptr<Machine> machine) : machine_(std::move(machine)) {}

Deployer Deployer::resume(ServiceSpec spec, Options options, Record record) {
  require(needs_finishing(record), "only a deployment that was interrupted is resumed");
  return Deployer(
      std::make_unique<Machine>(std::move(spec), std::move(options), std::move(record)));
}

Deployer::Deployer(Deployer&&) noexcept = default;
Deployer& Deployer::operator=(Deployer&&) noexcept = default;
Deployer::~Deployer() = default;

std::vector<Action> Deployer::step(const Event& event, Time now) {
  return machine_->step(event, now);
}

bool Deployer::is_over() const {
  return machine_->is_over();
}

const Record& Deployer::record() const {
  return machine_->record();
}

Deployer::Machine::Machine(ServiceSpec spec, Options options)
    : spec_(std::move(spec)), options_(std::move(options)) {
  record_.name = spec_.service.name;
  record_.spec = options_.spec_path;
}

Deployer::Machine::Machine(ServiceSpec spec, Options options, Record record)
    : spec_(std::move(spec)), options_(std::move(options)), record_(std::move(record)) {
  seen_.baseline = record_.baseline;
  seen_.was_healthy = record_.stage >= Stage::smoking && !record_.first_failure;
}

std::vector<Action> Deployer::Machine::step(const Event& event, Time now) {
  actions_.clear();
  now_ = std::max(now_, now);
  if (phase_ == Phase::over) return {};
  std::visit([this](const auto& one) { on(one); }, event);
  ask_to_wake();
  return std::exchange(actions_, {});
}

void Deployer::Machine::on(const event::Stopped&) {
  if (phase_ == Phase::stopping) {
    if (ends_now()) return;
    phase_ = Phase::applying;
    enter(Stage::applying);
    act(action::Apply{});
  } else if (phase_ == Phase::back_stop) {
    undo_or_start();
  }
}

void Deployer::Machine::on(const event::NotStopped& failed) {
  if (phase_ == Phase::stopping) {
    roll_back(std::nullopt, "the old configuration could not be stopped: " + failed.why);
  } else if (phase_ == Phase::back_stop) {
    note("not stopped: " + failed.why);
    if (++tries_ > 1) return undo_or_start();  // What was meant to stop it may stop it later.
    act(action::StopService{Time{0}});
  }
}

void Deployer::Machine::on(const event::Started&) {
  if (phase_ == Phase::starting) {
    note("started with the new configuration");
    phase_ = Phase::health;
    wait_for_health();
    judge_now();  // It may have died before its start was reported.
  } else if (phase_ == Phase::back_start) {
    note("started with the old configuration");
    phase_ = Phase::back_health;
    wait_for_health();
  }
}

void Deployer::Machine::on(const event::NotStarted& failed) {
  if (phase_ == Phase::starting) {
    note("not started: " + failed.why);
    seen_.unhealthy = failed.why;
    seen_.gave_up_health = true;
    phase_ = Phase::health;
    judge_now();
  } else if (phase_ == Phase::back_start) {
    start_old_again(failed.why);
  }
}

void Deployer::Machine::on(const event::HealthSeen& seen) {
  if (seen.number != probes_ || !probing_) return;  // Of another start.
  probing_ = false;
  if (phase_ == Phase::health) {
    candidate_health(seen);
  } else if (phase_ == Phase::watch) {
    watched_health(seen);
  } else if (phase_ == Phase::back_health) {
    restored_health(seen);
  }
}

void Deployer::Machine::on(const event::SmokeEnded& ended) {
  if (ended.number != smokes_run_) return;  // Of one that was cancelled.
  smokes_ = false;
  if (phase_ == Phase::baseline) {
    take_baseline(ended.run);
  } else if (phase_ == Phase::smoke) {
    candidate_smoke(ended);
  } else if (phase_ == Phase::back_smoke) {
    restored_smoke(ended);
  } else if (phase_ == Phase::diagnosing && interrupted_ == Phase::smoke) {
    held_smoke_ = ended;
  }
}

void Deployer::Machine::on(const event::Tick&) {
  asked_for_.reset();
  if (phase_ == Phase::diagnosing) return;
  if (down_at_ && now_ >= *down_at_) {
    down_at_.reset();
    return stays_down();
  }
  if (deadline_ && now_ >= *deadline_) {
    if (phase_ == Phase::health || phase_ == Phase::back_health) {
      deadline_.reset();
      return health_is_late();
    }
    if (phase_ == Phase::watch) return end_watch();
  }
  if (!probe_at_ || now_ < *probe_at_) return;
  probe_at_.reset();
  if (phase_ == Phase::health || phase_ == Phase::watch || phase_ == Phase::back_health) {
    probe();
  } else if (phase_ == Phase::back_start) {
    act(action::StartService{Whose::restored});
  } else if (phase_ == Phase::back_smoke) {
    run_smoke(Whose::restored);
  }
}

// The time for health runs from the start; a probe that is under way then does not extend it.
void Deployer::Machine::wait_for_health() {
  deadline_ = now_ + Time(static_cast<std::int64_t>(spec_.health.timeout_s * 1000));
  probing_ = false;
  probe();
}

void Deployer::Machine::probe() {
  probe_at_.reset();
  if (probing_) return;  // Its answer asks for the next.
  probing_ = true;
  act(action::ProbeHealth{++probes_});
}

void Deployer::Machine::run_smoke(Whose whose) {
  action::RunSmoke smoke;
  smoke.whose = whose;
  smoke.number = ++smokes_run_;
  if (whose != Whose::baseline && spec_.smoke.same_answers && seen_.baseline) {
    smoke.compare_with = seen_.baseline->first;
  }
  smoke.measure_gpu = whose == Whose::candidate && spec_.expect.gpu;
  smokes_ = true;
  act(std::move(smoke));
}

void Deployer::Machine::ask_to_wake() {
  // While the log is read nothing is late.
  if (phase_ == Phase::over || phase_ == Phase::diagnosing) return;
  std::optional<Time> next;
  for (const auto& one : {deadline_, probe_at_, down_at_}) {
    if (one && (!next || *one < *next)) next = one;
  }
  if (!next || next == asked_for_) return;
  asked_for_ = next;
  act(action::WakeAt{*next});
}

}  // namespace headroom::deploy
