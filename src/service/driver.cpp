// SPDX-License-Identifier: Apache-2.0
// The driver's loop, and what waits: requests, samples, the time. What is done at once is in
// driver_actions.cpp.
#include "service/driver.h"

#include <algorithm>
#include <utility>

#include "machine/clock.h"
#include "machine/services/units.h"

namespace headroom::service {
namespace {

// How often the processes are looked at: closely while something is asked, for a crash is to be
// noticed at once; and rarely enough in the watch to cost next to nothing.
constexpr deploy::Time close_look{100};
constexpr deploy::Time far_look{250};
constexpr deploy::Time tells_every{1000};
constexpr std::uint64_t slice_ms = 50;

}  // namespace

Driver::Driver(Workshop workshop, deploy::Deployer deployer)
    : shop_(std::move(workshop)),
      deployer_(std::move(deployer)),
      signals_(shop_.signals),
      began_ms_(machine::time_of_day_ms()),
      began_ns_(machine::monotonic_ns()) {
  if (signals_ == nullptr) signals_ = &own_signals_.emplace();
}

// The time of day when this began, and from there on a clock that nobody sets.
deploy::Time Driver::now() const {
  const std::uint64_t passed_ns = machine::monotonic_ns() - began_ns_;
  return deploy::Time(began_ms_ + static_cast<std::int64_t>(passed_ns / 1'000'000));
}

Result<deploy::DeployReport> Driver::run(const deploy::Event& first) {
  feed(first);
  while (!report_ && !failed_) {
    if (const auto signal = signals_->take()) {
      take_signal(*signal);
    } else if (!events_.empty()) {
      const deploy::Event event = std::move(events_.front());
      events_.pop_front();
      feed(event);
    } else {
      wait_a_little();
    }
  }
  if (failed_) return *std::move(failed_);
  return *std::move(report_);
}

// A manager that is ending starts nothing any more, so the way back would end at its first step. It
// is as if the power went: the unit for that is there.
void Driver::take_signal(const std::string& name) {
  const bool can_wait = shop_.boot_unit != nullptr && deploy::needs_finishing(deployer_.record());
  if (!can_wait || !machine::is_going_down(shop_.spec.service.user))
    return feed(deploy::event::Signal{name});
  failed_ = Error{Errc::busy,
                  "expected time to restore the old configuration, but systemd is shutting down; "
                  "the next boot does it",
                  "headroom deploy --status"};
}

void Driver::feed(const deploy::Event& event) {
  for (const deploy::Action& action : deployer_.step(event, now())) {
    if (shop_.before_each) shop_.before_each("action");
    if (!perform(action)) return;
  }
}

void Driver::wait_a_little() {
  std::uint64_t wait_ms = slice_ms;
  if (wake_) {
    const auto left = (*wake_ - now()).count();
    wait_ms = std::min(wait_ms, static_cast<std::uint64_t>(std::max<std::int64_t>(left, 0)));
  }
  if (smoke_) {
    take_smoke(wait_ms);
    take_probe(0);
  } else if (probe_) {
    take_probe(wait_ms);
  } else if (wait_ms > 0) {
    machine::sleep_ms(wait_ms);
  }
  take_sample(false);
  if (!wake_ || now() < *wake_) return;
  wake_.reset();
  answer(deploy::event::Tick{});
}

void Driver::take_smoke(std::uint64_t wait_ms) {
  const bool is_over = smoke_->wait(wait_ms);
  // The GPU is looked at with every look at the processes, and once more at the end.
  if (is_over) end_smoke();
}

void Driver::end_smoke() {
  deploy::event::SmokeEnded ended;
  ended.number = smoke_->number();
  smoke_lost_connection_ = smoke_->lost_connection();
  ended.run = smoke_->take();
  smoke_.reset();
  if (observes_) take_sample(true);  // A short test may lie between two looks.
  if (gpu_) {
    ended.gpu = gpu_->use();
    gpu_.reset();
  }
  answer(std::move(ended));
}

void Driver::take_probe(std::uint64_t wait_ms) {
  if (!probe_) return;
  auto answers = probe_->wait(wait_ms);
  if (answers && answers->empty() && !probe_->is_over()) return;
  deploy::event::HealthSeen seen;
  if (!answers || answers->empty()) {
    seen.detail = answers ? "no answer" : answers.error().message;
  } else {
    seen = shop_.asker->judge_probe(answers->front());
  }
  seen.number = probe_number_;
  probe_.reset();
  answer(std::move(seen));
}

deploy::event::Sample Driver::to_sample(const machine::ServiceSample& seen) {
  deploy::event::Sample sample;
  sample.start = start_;
  sample.running = seen.running;
  sample.will_restart = seen.will_restart;
  sample.main = seen.main;
  for (const machine::ServiceDeath& one : seen.deaths)
    sample.deaths.push_back({one.code, one.signal, one.main, one.what});
  // Nobody but its parent knows how a worker ended. A request that broke off beside it tells, or
  // the log; else it may have been relieved after its work, as some masters do.
  replaced_.insert(replaced_.end(), seen.replaced.begin(), seen.replaced.end());
  const bool is_new = !seen.replaced.empty();
  if (smoke_lost_connection_ || (is_new && log_tells_of_death())) {
    for (const machine::ServiceDeath& one : replaced_)
      sample.deaths.push_back({one.code, one.signal, one.main, one.what});
    replaced_.clear();
  }
  saw_death_ = saw_death_ || !sample.deaths.empty() || !seen.running;
  sample.oom_kills = seen.oom_kills;
  sample.core_dumps = seen.core_dumps;
  sample.memory = seen.memory;
  sample.memory_limit = seen.memory_limit;
  sample.processor_ms = seen.processor_ms;
  if (kernel_) {
    const std::string text = kernel_->read_new();
    kernel_text_ += text;
    sample.alarms = shop_.logs.alarms(text);
  }
  return sample;
}

bool Driver::log_tells_of_death() {
  const auto log = shop_.service->log();
  return log && shop_.logs.judge(*log, "").saw_death;
}

void Driver::take_sample(bool at_once) {
  if (!observes_) return;
  const deploy::Time time = now();
  if (!at_once && time - looked_ < (smoke_ || probe_ ? close_look : far_look)) return;
  looked_ = time;
  const machine::ServiceSample seen = shop_.service->sample();
  if (gpu_) gpu_->look(seen.pids);
  deploy::event::Sample sample = to_sample(seen);
  const bool over_limit = shop_.spec.expect.memory && sample.memory > shop_.spec.expect.memory;
  const bool is_news = at_once || !sample.deaths.empty() || sample.running != was_running_ ||
                       sample.main != told_main_ || sample.oom_kills > 0 ||
                       !sample.alarms.empty() || over_limit;
  was_running_ = sample.running;
  if (!is_news && time - told_ < tells_every) return;
  told_ = time;
  told_main_ = sample.main;
  answer(std::move(sample));
}

}  // namespace headroom::service
