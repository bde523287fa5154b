// SPDX-License-Identifier: Apache-2.0
// What the driver does at once when the deployer says so.
#include <fmt/format.h>

#include <utility>

#include "machine/clock.h"
#include "report/deploy_report.h"
#include "service/driver.h"

namespace headroom::service {
namespace {

namespace action = deploy::action;
namespace event = deploy::event;

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

event::ServiceSeen to_seen(const machine::ServiceStatus& status) {
  using From = machine::ServiceStatus::State;
  event::ServiceSeen seen;
  switch (status.state) {
    case From::stopped:
      seen.state = event::ServiceSeen::State::stopped;
      break;
    case From::running:
      seen.state = event::ServiceSeen::State::running;
      break;
    case From::failing:
      seen.state = event::ServiceSeen::State::failing;
      break;
  }
  seen.detail = status.detail;
  return seen;
}

}  // namespace

bool Driver::perform(const deploy::Action& one) {
  return std::visit(Overloaded{[this](const action::Keep& it) { return keep(it); },
                               [this](const auto& it) {
                                 using A = std::decay_t<decltype(it)>;
                                 if constexpr (std::is_same_v<A, action::LookAtGate>)
                                   look_at_gate();
                                 if constexpr (std::is_same_v<A, action::LookAtService>)
                                   look_at_service();
                                 if constexpr (std::is_same_v<A, action::RunSmoke>) begin_smoke(it);
                                 if constexpr (std::is_same_v<A, action::CancelSmoke>) {
                                   if (smoke_) smoke_->cancel();
                                 }
                                 if constexpr (std::is_same_v<A, action::StopService>) stop(it);
                                 if constexpr (std::is_same_v<A, action::Apply>)
                                   answer(shop_.change_engine->apply(shop_.change));
                                 if constexpr (std::is_same_v<A, action::Undo>)
                                   answer(shop_.change_engine->undo(
                                       it.change_id, "rolled back by headroom deploy"));
                                 if constexpr (std::is_same_v<A, action::StartService>) start();
                                 if constexpr (std::is_same_v<A, action::ProbeHealth>)
                                   probe(it.number);
                                 if constexpr (std::is_same_v<A, action::Observe>)
                                   observe(it.start);
                                 if constexpr (std::is_same_v<A, action::StopObserving>)
                                   observes_ = false;
                                 if constexpr (std::is_same_v<A, action::Diagnose>) diagnose();
                                 if constexpr (std::is_same_v<A, action::Commit>)
                                   answer(event::Committed{});
                                 if constexpr (std::is_same_v<A, action::Say>)
                                   shop_.say(it.text, it.next);
                                 if constexpr (std::is_same_v<A, action::WakeAt>) wake_ = it.when;
                                 if constexpr (std::is_same_v<A, action::Finish>) finish(it.report);
                                 return true;
                               }},
                    one);
}

void Driver::look_at_gate() {
  auto gate = judge_machine(shop_.machine, shop_.gate);
  if (gate) {
    answer(event::GateJudged{*std::move(gate)});
  } else {
    failed_ = std::move(gate).error();
  }
}

void Driver::look_at_service() {
  const auto status = shop_.service->status();
  if (status) {
    answer(to_seen(*status));
  } else if (deployer_.record().stage == deploy::Stage::looking) {
    failed_ = status.error();  // Whether it runs is not known, and nothing was touched.
  } else {
    answer(event::ServiceSeen{event::ServiceSeen::State::stopped, status.error().message});
  }
}

// What is to finish a roll-back at boot is there before anything has to be rolled back.
bool Driver::keep(const action::Keep& it) {
  if (shop_.places == nullptr) return true;
  if (shop_.boot_unit != nullptr && deploy::needs_finishing(it.record)) {
    const Status installed = shop_.boot_unit->install();
    if (!installed) {
      shop_.say(
          "if the power fails, no boot will finish the roll-back: " + installed.error().message,
          "");
      shop_.boot_unit = nullptr;
    }
  }
  const Status kept = shop_.places->keep(it.record);
  if (kept || !it.must) return true;
  answer(event::NotKept{kept.error()});
  return false;
}

void Driver::begin_smoke(const action::RunSmoke& run) {
  smoke_lost_connection_ = false;
  replaced_.clear();
  if (run.measure_gpu) {
    gpu_.emplace(shop_.machine.root.files, shop_.machine.facts.machine.in_container());
    take_sample(true);
  }
  smoke_ = shop_.asker->begin_smoke(run);
}

void Driver::stop(const action::StopService& it) {
  std::optional<std::uint64_t> kill_after;
  if (it.kill_after) kill_after = static_cast<std::uint64_t>(it.kill_after->count());
  const Status stopped = shop_.service->stop(kill_after);
  if (stopped) {
    answer(event::Stopped{});
  } else {
    answer(event::NotStopped{stopped.error().message});
  }
}

void Driver::start() {
  const auto timeout_ms = static_cast<std::uint64_t>(shop_.spec.health.timeout_s * 1000);
  const Status started = shop_.service->start(timeout_ms);
  was_running_ = true;
  if (started) {
    answer(event::Started{});
  } else {
    answer(event::NotStarted{started.error().message});
  }
}

void Driver::probe(std::uint64_t number) {
  probe_number_ = number;
  auto begun = shop_.asker->begin_probe();
  if (begun && *begun) {
    probe_ = *std::move(begun);
    return;
  }
  event::HealthSeen seen;
  seen.number = number;
  if (!begun) {
    seen.detail = begun.error().message;
  } else {
    const auto status = shop_.service->status();
    const bool runs = status && status->state == machine::ServiceStatus::State::running;
    const bool open = runs && shop_.asker->port_is_open();
    seen.healthy = open;
    seen.detail = !runs ? "it does not run" : open ? "it runs" : "its port accepts no connections";
  }
  answer(std::move(seen));
}

void Driver::observe(std::uint64_t start) {
  observes_ = true;
  start_ = start;
  saw_death_ = false;
  told_main_.clear();
  replaced_.clear();
  kernel_text_.clear();
  kernel_.reset();
  // What this system's kernel says is of no matter to another machine.
  if (shop_.machine.root.files.is_real()) kernel_.emplace();
  shop_.service->observe();
  looked_ = told_ = now();
}

// A connection breaks before whoever broke it is gone.
void Driver::diagnose() {
  constexpr std::uint64_t patience_ms = 1000, pause_ms = 20;
  deploy::event::Sample all;
  for (std::uint64_t waited = 0; !saw_death_ && waited < patience_ms; waited += pause_ms) {
    machine::sleep_ms(pause_ms);
    deploy::event::Sample sample = to_sample(shop_.service->sample());
    std::swap(sample.deaths, all.deaths);
    all.deaths.insert(all.deaths.end(), sample.deaths.begin(), sample.deaths.end());
    sample.deaths = std::move(all.deaths);
    all = std::move(sample);
  }
  if (observes_ && all.start == start_) answer(std::move(all));
  const auto log = shop_.service->log();
  if (kernel_) kernel_text_ += kernel_->read_new();
  answer(event::Diagnosed{shop_.logs.judge(log ? *log : "", kernel_text_)});
}

void Driver::finish(deploy::DeployReport report) {
  if (shop_.boot_unit != nullptr && !deploy::needs_finishing(deployer_.record())) {
    if (const Status removed = shop_.boot_unit->remove(); !removed)
      report.warnings.push_back(removed.error().message);
  }
  if (report.outcome == deploy::Outcome::rolled_back && shop_.places != nullptr &&
      (shop_.files_postmortem || !report.restored.value_or(true))) {
    auto written = shop_.places->write_postmortem(machine::utc_now(),
                                                  report::to_postmortem(report, shop_.change));
    if (written) {
      report.postmortem = *std::move(written);
    } else {
      report.warnings.push_back(written.error().message);
    }
  }
  report_ = std::move(report);
}

}  // namespace headroom::service
