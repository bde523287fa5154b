// SPDX-License-Identifier: Apache-2.0
// The deployer's way there: gate, baseline, stop, apply, start; and the end of a commit.
#include <fmt/format.h>

#include "deploy/machine.h"

namespace headroom::deploy {
namespace {

findings::Cause broken_baseline(const ServiceSpec& spec, const std::string& what,
                                std::string advice) {
  findings::Cause cause;
  cause.id = "baseline-broken";
  cause.title = "The present configuration of " + spec.service.name + " fails its own smoke test";
  cause.confidence = 1;
  cause.reasons = {what};
  cause.evidence = {{describe(spec.smoke), 0, what, "requested from the present configuration"}};
  cause.fix = {findings::sentence(std::move(advice))};
  return cause;
}

}  // namespace

void Deployer::Machine::on(const event::Begin&) {
  if (phase_ != Phase::begin) return;
  record_.began = now_;
  phase_ = Phase::gate;
  note("began");
  act(action::LookAtGate{});
}

void Deployer::Machine::on(const event::GateJudged& judged) {
  if (phase_ != Phase::gate) return;
  gate_ = judged.gate;
  for (const GateCheck& check : gate_.checks) {
    if (check.answer == GateCheck::Answer::unknown) warnings_.push_back(check.says);
  }
  if (const GateCheck* refusal = gate_.refusal()) {
    if (!options_.force) return refuse(refusal->cause, refusal->says);
    for (const GateCheck& check : gate_.checks) {
      if (check.answer != GateCheck::Answer::refused) continue;
      warnings_.push_back("ignored because of --force: " + check.says);
      say("ignored because of --force: " + check.says);
    }
  }
  note("the gate passed");
  if (!options_.apply) return finish(Outcome::planned, std::nullopt);
  if (options_.trial) return begin_trial();
  phase_ = Phase::looking;
  act(action::LookAtService{});
}

void Deployer::Machine::on(const event::ServiceSeen& seen) {
  if (phase_ == Phase::resuming) return end_commit_of(seen);
  if (phase_ != Phase::looking) return;
  using State = event::ServiceSeen::State;
  const std::string detail = seen.detail.empty() ? "" : ": " + seen.detail;
  if (seen.state == State::failing) {
    return refuse(broken_baseline(spec_, "the service does not stay up" + detail,
                                  "fix it first; or stop it, and deploy without a baseline"),
                  "the service does not stay up");
  }
  record_.was_running = seen.state == State::running;
  if (record_.was_running) return begin_baseline();
  const bool compares = spec_.expect.faster > 0 || spec_.smoke.same_answers;
  if (compares && !options_.force) {
    return refuse(broken_baseline(spec_,
                                  "the service does not run" + detail +
                                      ", but faster and same_answers need it for comparison",
                                  "start it first; or deploy without a baseline, with --force"),
                  "there is no running baseline to compare with");
  }
  note("the service does not run, so there is no baseline");
  if (compares) warnings_.push_back("nothing was compared: the service did not run before");
  stop_old();
}

// Whoever orders a trial has seen the service run, and measured it.
void Deployer::Machine::begin_trial() {
  record_.was_running = true;
  record_.baseline = options_.trial->baseline;
  seen_.baseline = options_.trial->baseline;
  stop_old();
}

void Deployer::Machine::begin_baseline() {
  phase_ = Phase::baseline;
  say("testing the present configuration: " + describe(spec_.smoke));
  run_smoke(Whose::baseline);
}

void Deployer::Machine::take_baseline(const SmokeRun& run) {
  if (run.fault) {
    return refuse(broken_baseline(spec_, run.fault->message,
                                  "fix the service, or the smoke test in SERVICE.toml"),
                  run.fault->message);
  }
  record_.baseline = run;
  seen_.baseline = run;
  const auto ms = run.median_ms();
  note(ms ? fmt::format("the baseline passed its smoke test, {:.1f} ms (median)", *ms)
          : "the baseline passed its smoke test");
  stop_old();
}

void Deployer::Machine::stop_old() {
  phase_ = Phase::stopping;
  record_.stopped = now_;
  enter(Stage::stopping);
  if (!record_.was_running || (options_.trial && options_.trial->is_stopped)) {
    phase_ = Phase::applying;
    enter(Stage::applying);
    act(action::Apply{});
    return;
  }
  note("stopping the old configuration");
  act(action::StopService{});
}

void Deployer::Machine::on(const event::Applied& applied) {
  if (phase_ != Phase::applying) return;
  record_.change_id = applied.change_id;
  note("the change is in place: " + applied.change_id);
  if (ends_now()) return;
  start_candidate();
}

void Deployer::Machine::on(const event::NotApplied& failed) {
  if (phase_ != Phase::applying) return;
  if (!failed.taken_back) record_.change_id = failed.change_id;
  roll_back(std::nullopt, "the change could not be made: " + failed.error.message);
}

void Deployer::Machine::start_candidate() {
  phase_ = Phase::starting;
  if (!commits_) enter(Stage::starting);
  observes_ = true;
  act(action::Observe{++starts_});
  act(action::StartService{Whose::candidate});
}

void Deployer::Machine::commit() {
  phase_ = Phase::committing;
  deadline_.reset();
  probe_at_.reset();
  down_at_.reset();
  note("the watch is over");
  enter(Stage::committing);
  if (observes_) act(action::StopObserving{});
  observes_ = false;
  act(action::Commit{record_.change_id});
}

void Deployer::Machine::on(const event::Committed&) {
  if (phase_ != Phase::committing) return;
  note("committed");
  finish(Outcome::committed, std::nullopt);
}

// The first event of a deployment that somebody else began.
void Deployer::Machine::on(const event::Found& found) {
  if (phase_ != Phase::begin) return;
  using Change = event::Found::Change;
  note("headroom was interrupted while it was " + std::string(to_string(record_.stage)) +
       "; it continues from there");
  if (record_.stage == Stage::committing && found.change == Change::in_force) {
    record_.change_id = found.change_id;
    phase_ = Phase::resuming;
    act(action::LookAtService{});
    return;
  }
  record_.change_id = found.change == Change::none ? "" : found.change_id;
  const std::string why = record_.why.empty() && !record_.cause
                              ? "headroom was interrupted before it had finished"
                              : record_.why;
  roll_back(record_.cause, why);
}

// It was decided to commit. What does not run any more was stopped since, by a reboot for example:
// it has to come up once more to be kept.
void Deployer::Machine::end_commit_of(const event::ServiceSeen& seen) {
  if (seen.state == event::ServiceSeen::State::running) {
    seen_.was_healthy = true;
    return commit();
  }
  seen_.was_healthy = false;
  commits_ = true;
  start_candidate();
}

void Deployer::Machine::on(const event::Signal& signal) {
  const bool decided = record_.stage == Stage::committing || is_going_back();
  const bool waits = phase_ == Phase::stopping || phase_ == Phase::applying;
  if (waits) {
    ends_by_ = signal.name;
  } else if (decided) {
    say(signal.name + ": it is already ending; wait until it has finished");
  } else if (is_untouched()) {
    ended_by_ = signal.name;
    refuse(std::nullopt, "ended by " + signal.name);
  } else {
    ended_by_ = signal.name;
    roll_back(std::nullopt, "ended by " + signal.name);
  }
}

bool Deployer::Machine::ends_now() {
  if (ends_by_.empty()) return false;
  ended_by_ = ends_by_;
  roll_back(std::nullopt, "ended by " + ends_by_);
  return true;
}

// Nothing may be touched without a record of it. On the way back there is no other way than on.
void Deployer::Machine::on(const event::NotKept& failed) {
  if (records_fail_) return;
  records_fail_ = true;
  warnings_.push_back("no record could be written: " + failed.error.message);
  say(warnings_.back(), failed.error.next);
  if (record_.stage == Stage::stopping || (phase_ == Phase::applying && !record_.was_running)) {
    record_.stage = Stage::looking;
    std::optional<findings::Cause> cause;
    if (failed.error.code == Errc::no_space) {
      cause.emplace();
      cause->id = "disk-full";
      cause->title = "There is no space for the record of the deployment";
      cause->confidence = 1;
      cause->reasons = {failed.error.message};
      cause->fix = {findings::sentence(failed.error.next)};
    }
    return refuse(std::move(cause), "no record could be written: " + failed.error.message);
  }
  if (is_going_back()) return stop_for_roll_back(Time{0});
  roll_back(std::nullopt, "no record could be written: " + failed.error.message);
}

}  // namespace headroom::deploy
