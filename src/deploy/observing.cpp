// SPDX-License-Identifier: Apache-2.0
// What is seen of a running candidate, from its start to the end of the watch, and when it is
// enough for a verdict.
#include <fmt/format.h>

#include <algorithm>

#include "deploy/machine.h"

namespace headroom::deploy {
namespace {

constexpr Time between_probes_of_start{500};
constexpr Time patience_with_others{5000};  // For whoever stopped the service to start it again.
constexpr int smokes_again_max = 3;
// How long memory has to grow before it tells: a quarter of the watch, within these bounds.
constexpr Time shortest_growth{6000};
constexpr Time longest_growth{120000};

// What ends so was asked to end: by SIGHUP, SIGINT or SIGTERM, or by itself without complaint.
bool is_clean(const Death& death) {
  const int code = death.signal ? 128 + *death.signal : death.code;
  return code == 0 || code == 129 || code == 130 || code == 143;
}

std::string describe_end(const Death& death) {
  const std::string what = death.what.empty() ? "a process" : death.what;
  if (death.code < 0) return what + " ended; only its parent knows how";
  return death.signal
             ? fmt::format("{} ended by signal {} (code {})", what, *death.signal, death.code)
             : fmt::format("{} ended with code {}", what, death.code);
}

Time seconds(double s) {
  return Time(static_cast<std::int64_t>(s * 1000));
}

}  // namespace

void Deployer::Machine::on(const event::Sample& sample) {
  if (!observes_ || sample.start != starts_) return;
  note_deaths(sample);
  note_memory(sample);
  for (const std::string& alarm : sample.alarms) {
    note("the kernel: " + alarm);
    seen_.alarms.push_back(alarm);
  }
  const bool judges = phase_ == Phase::health || phase_ == Phase::smoke || phase_ == Phase::watch;
  if (waits_for_others()) return;
  if (judges && needs_log(spec_, seen_)) judge_now();
}

void Deployer::Machine::note_deaths(const event::Sample& sample) {
  for (const Death& death : sample.deaths) {
    if (is_clean(death)) {
      if (death.main) clean_end_ = death;
      continue;
    }
    note(describe_end(death));
    note_failure();
    seen_.deaths.push_back(death);
    if (death.main) main_failed_ = true;
  }
  note_main(sample);
  note_end(sample);
}

// Another main process without a failure of the one before is somebody else's doing: an
// administrator, an update, another tool.
void Deployer::Machine::note_main(const event::Sample& sample) {
  if (sample.main.empty() || sample.main == main_) return;
  if (!main_.empty() && phase_ != Phase::starting) {
    if (main_failed_) {
      await_start();
      note("its manager restarted it");
    } else {
      restarted_elsewhere_ = true;
      await_start();
      note("somebody else restarted it");
      say("somebody else restarted " + spec_.service.name + "; testing it again");
    }
  }
  main_ = sample.main;
  // The first sample that names it may be the one that tells of its end.
  if (!sample.running) return;
  main_failed_ = false;
  clean_end_.reset();
}

void Deployer::Machine::note_end(const event::Sample& sample) {
  if (sample.running || sample.will_restart) {
    down_at_.reset();
  } else if (main_failed_) {
    down_at_.reset();
    seen_.down = true;
  } else if (phase_ != Phase::starting && !down_at_) {
    down_at_ = now_ + patience_with_others;
  }
}

// Who starts anew has the time of a start to answer again, but no longer once the watch is over.
void Deployer::Machine::await_start() {
  if (is_watched_out_) return;
  bad_since_.reset();
  last_answer_ = now_ + std::max(seconds(spec_.health.timeout_s - spec_.watch.hang_s), Time{0});
  processor_at_answer_.reset();
}

// The smoke test broke off because the service was told to end. Until it is clear that nobody
// starts it again, the candidate is not blamed for it.
bool Deployer::Machine::waits_for_others() const {
  return phase_ == Phase::smoke && !smokes_ && seen_.smoke && seen_.smoke->fault && down_at_ &&
         seen_.deaths.size() <= deaths_before_smoke_;
}

// It is gone without a failure, and nobody started it again.
void Deployer::Machine::stays_down() {
  if (is_going_back() || phase_ == Phase::committing) return;
  if (!clean_end_ || clean_end_->signal || clean_end_->code != 0) {
    return roll_back(std::nullopt, "somebody stopped the service");
  }
  note(describe_end(*clean_end_) + ", although nobody asked it to");
  if (!record_.first_failure) record_.first_failure = now_ - patience_with_others;
  seen_.deaths.push_back(*clean_end_);
  seen_.down = true;
  judge_now();
}

void Deployer::Machine::note_memory(const event::Sample& sample) {
  if (sample.oom_kills > seen_.oom_kills) {
    note("its memory limit ended one of its processes");
    note_failure();
  }
  if (sample.core_dumps > seen_.core_dumps) {
    note(fmt::format("{} core dumps so far", sample.core_dumps));
    note_failure();
  }
  seen_.oom_kills = std::max(seen_.oom_kills, sample.oom_kills);
  seen_.core_dumps = std::max(seen_.core_dumps, sample.core_dumps);
  if (sample.processor_ms) processor_ms_ = sample.processor_ms;
  if (sample.memory_limit) seen_.memory_limit = sample.memory_limit;
  if (!sample.memory) return;
  seen_.memory = sample.memory;
  seen_.memory_peak = std::max(seen_.memory_peak.value_or(Bytes{}), *sample.memory);
  if (phase_ != Phase::watch) return;  // A service that loads its models grows, and may.
  std::optional<Bytes> limit = seen_.memory_limit;
  const auto& expected = spec_.expect.memory;
  if (expected && (!limit || *expected < *limit)) limit = expected;
  if (!limit) return;
  if (!growth_) {
    const Time quarter = seconds(spec_.watch.seconds / 4);
    growth_.emplace(*limit, std::clamp(quarter, shortest_growth, longest_growth));
  }
  growth_->add(*sample.memory, now_);
  seen_.growth = growth_->growth(now_);
  if (seen_.growth) note_failure();
}

// ---- health and smoke test ----

void Deployer::Machine::candidate_health(const event::HealthSeen& seen) {
  if (!seen.healthy) {
    seen_.unhealthy = seen.detail;
    return probe_later(between_probes_of_start);
  }
  seen_.was_healthy = true;
  seen_.unhealthy.clear();
  deadline_.reset();
  note("healthy");
  if (commits_) return commit();
  begin_smoke();
}

void Deployer::Machine::health_is_late() {
  if (probing_) seen_.unhealthy = "there was no answer yet";
  const std::string late = fmt::format("not healthy within {} s{}", spec_.health.timeout_s,
                                       seen_.unhealthy.empty() ? "" : ": " + seen_.unhealthy);
  if (phase_ == Phase::back_health) return start_old_again(late);
  note(late);
  seen_.gave_up_health = true;
  judge_now();
}

void Deployer::Machine::begin_smoke() {
  phase_ = Phase::smoke;
  enter(Stage::smoking);
  deaths_before_smoke_ = seen_.deaths.size();
  restarted_elsewhere_ = false;
  seen_.smoke.reset();
  if (!options_.trial) say("testing the new configuration: " + describe(spec_.smoke));
  run_smoke(Whose::candidate);
}

void Deployer::Machine::candidate_smoke(const event::SmokeEnded& ended) {
  seen_.smoke = ended.run;
  seen_.gpu = ended.gpu;
  record_.candidate_ms = ended.run.median_ms();
  if (ended.run.fault) {
    note("the smoke test failed: " + ended.run.fault->message);
    note_failure();
  } else {
    const auto ms = record_.candidate_ms;
    note(ms ? fmt::format("the smoke test passed, {:.1f} ms (median)", *ms)
            : "the smoke test passed");
  }
  judge_now();
}

// A smoke test that failed because somebody else restarted the service says nothing.
bool Deployer::Machine::smoke_again() {
  const bool failed =
      seen_.smoke && seen_.smoke->fault && seen_.smoke->fault->kind != Fault::Kind::wrong;
  if (!failed || !restarted_elsewhere_ || seen_.deaths.size() > deaths_before_smoke_) return false;
  if (smokes_again_ >= smokes_again_max) return false;
  ++smokes_again_;
  note("testing it again, because somebody else restarted it");
  record_.first_failure.reset();
  seen_.smoke.reset();
  restarted_elsewhere_ = false;
  phase_ = Phase::health;
  wait_for_health();
  return true;
}

// ---- the watch ----

// What was to be measured is measured.
void Deployer::Machine::end_trial() {
  roll_back(std::nullopt, "it was only a trial");
}

void Deployer::Machine::begin_watch() {
  if (options_.trial) return end_trial();
  phase_ = Phase::watch;
  enter(Stage::watching);
  note(fmt::format("watched for {} s", spec_.watch.seconds));
  say(fmt::format("the smoke test passed; watching for {} s", spec_.watch.seconds));
  deadline_ = now_ + seconds(spec_.watch.seconds);
  is_watched_out_ = false;
  last_answer_ = now_;
  processor_at_answer_ = processor_ms_;
  growth_.reset();
  probe();
}

// What is silent or gone when the time is over is not kept: it answers once more, or it is judged.
void Deployer::Machine::end_watch() {
  deadline_.reset();
  is_watched_out_ = true;
  if (!down_at_ && !bad_since_ && !probing_) commit();
}

void Deployer::Machine::watched_health(const event::HealthSeen& seen) {
  const Time patience = seconds(spec_.watch.hang_s);
  probe_later(std::clamp(patience / 6, between_probes_of_start, Time{10000}));
  if (seen.healthy) {
    last_answer_ = now_;
    processor_at_answer_ = processor_ms_;
    bad_since_.reset();
    seen_.unhealthy.clear();
    if (is_watched_out_ && !down_at_) commit();
    return;
  }
  if (!bad_since_) {
    bad_since_ = now_;
    note("not healthy: " + seen.detail);
  }
  seen_.unhealthy = seen.detail;
  // Whether somebody starts it again decides about one that is gone, not its silence.
  if (down_at_ || now_ - last_answer_ < patience) return;
  if (!record_.first_failure) record_.first_failure = bad_since_;
  (seen.answered ? seen_.turned_bad : seen_.hangs) = true;
  seen_.hang = fmt::format("no good answer to the health request for {} s", spec_.watch.hang_s);
  // It falls where a process has ended.
  if (processor_ms_ && processor_at_answer_ && *processor_ms_ >= *processor_at_answer_) {
    seen_.hang += fmt::format(", while it used {:.1f} s of processor time",
                              static_cast<double>(*processor_ms_ - *processor_at_answer_) / 1000);
  }
  judge_now();
}

// ---- the verdict ----

// Nothing is judged before the log was read where it may say why.
void Deployer::Machine::judge_now() {
  if (!needs_log(spec_, seen_)) {
    if (phase_ == Phase::smoke && seen_.smoke) begin_watch();
    return;
  }
  if (smokes_ && judge(spec_, seen_)) act(action::CancelSmoke{});
  interrupted_ = phase_;
  phase_ = Phase::diagnosing;
  act(action::Diagnose{});
}

void Deployer::Machine::on(const event::Diagnosed& diagnosed) {
  if (phase_ != Phase::diagnosing) return;
  seen_.log = diagnosed.verdict;
  phase_ = interrupted_;
  if (interrupted_ == Phase::smoke && (smoke_again() || waits_for_others())) return;
  const bool broke =
      seen_.smoke && seen_.smoke->fault && seen_.smoke->fault->kind != Fault::Kind::wrong;
  seen_.died_in_smoke =
      broke && (seen_.deaths.size() > deaths_before_smoke_ || seen_.log->saw_death);
  if (auto cause = judge(spec_, seen_)) return roll_back(std::move(cause), "");
  seen_.alarms.clear();
  go_on();
}

void Deployer::Machine::go_on() {
  if (held_smoke_) return candidate_smoke(*std::exchange(held_smoke_, std::nullopt));
  if (phase_ == Phase::smoke && seen_.smoke) return begin_watch();
  if (phase_ == Phase::health || phase_ == Phase::watch) probe();
}

}  // namespace headroom::deploy
