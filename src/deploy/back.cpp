// SPDX-License-Identifier: Apache-2.0
// The deployer's way back: stop the candidate, undo the change, start the old configuration and
// prove it by the smoke test that it passed before.
#include <fmt/format.h>

#include "deploy/machine.h"

namespace headroom::deploy {
namespace {

constexpr Time candidate_grace{3000};  // From SIGTERM to SIGKILL: it has failed already.
constexpr int starts_max = 3;
constexpr int smokes_max = 3;

// The change engine says a command or, where a person has to look first, a sentence.
findings::Step what_is_next(const Error& error, const std::string& change_id) {
  const std::string& next = error.next;
  if (next.empty()) return findings::command("headroom undo " + change_id);
  const bool is_command = next.starts_with("headroom ") || next.starts_with("sudo ");
  return is_command ? findings::command(next) : findings::sentence(next);
}

}  // namespace

void Deployer::Machine::roll_back(std::optional<findings::Cause> cause, std::string why) {
  if (!record_.stopped) record_.stopped = now_;
  if (seen_.was_healthy) note_failure();
  record_.cause = std::move(cause);
  record_.why = std::move(why);
  const std::string because =
      record_.cause ? record_.cause->id + ": " + record_.cause->title : record_.why;
  note("rolling back: " + because);
  enter(Stage::rolling_back);
  if (!options_.trial) say("rolling back: " + because);
  stop_for_roll_back(candidate_grace);
}

void Deployer::Machine::stop_for_roll_back(Time kill_after) {
  phase_ = Phase::back_stop;
  deadline_.reset();
  probe_at_.reset();
  down_at_.reset();
  held_smoke_.reset();
  tries_ = 0;
  if (smokes_) act(action::CancelSmoke{});
  ++smokes_run_;  // Whatever comes of that one is of no interest any more.
  smokes_ = false;
  probing_ = false;
  if (observes_) act(action::StopObserving{});
  observes_ = false;
  act(action::StopService{kill_after});
}

void Deployer::Machine::undo_or_start() {
  tries_ = 0;
  if (record_.change_id.empty()) return start_old();
  phase_ = Phase::back_undo;
  act(action::Undo{record_.change_id});
}

void Deployer::Machine::on(const event::Undone& undone) {
  if (phase_ != Phase::back_undo) return;
  note("the old configuration is back in place");
  for (const std::string& path : undone.left) {
    warnings_.push_back("not restored, because it was changed since: " + path);
  }
  start_old();
}

void Deployer::Machine::on(const event::NotUndone& failed) {
  if (phase_ != Phase::back_undo) return;
  note("the change could not be undone: " + failed.error.message);
  if (++tries_ <= 1) return act(action::Undo{record_.change_id});
  std::vector<findings::Step> left = {what_is_next(failed.error, record_.change_id)};
  if (!options_.start_command.empty()) left.push_back(findings::command(options_.start_command));
  // Behind the first line there may be what differs, of many lines.
  const std::string why = failed.error.message.substr(0, failed.error.message.find('\n'));
  not_restored("the old configuration could not be put back (" + why + "); the service is stopped",
               std::move(left));
}

void Deployer::Machine::start_old() {
  tries_ = 0;
  if (options_.trial) return finish(Outcome::tried, std::nullopt);
  if (!record_.was_running) {
    note("the service did not run before, so it stays stopped");
    return finish(Outcome::rolled_back, true);
  }
  phase_ = Phase::back_start;
  act(action::StartService{Whose::restored});
}

void Deployer::Machine::start_old_again(const std::string& why) {
  note("the old configuration: " + why);
  deadline_.reset();
  probe_at_.reset();
  if (++tries_ >= starts_max) {
    std::vector<findings::Step> left;
    if (!options_.start_command.empty()) left.push_back(findings::command(options_.start_command));
    return not_restored("the old configuration is back in place but does not start (" + why +
                            fmt::format("; tried {} times)", tries_),
                        std::move(left));
  }
  phase_ = Phase::back_start;
  probe_later(Time{1000} * tries_);
}

void Deployer::Machine::restored_health(const event::HealthSeen& seen) {
  if (!seen.healthy) {
    seen_.unhealthy = seen.detail;
    return probe_later(Time{200});
  }
  note("the old configuration is healthy");
  deadline_.reset();
  tries_ = 0;
  smoke_of_old();
}

void Deployer::Machine::smoke_of_old() {
  phase_ = Phase::back_smoke;
  run_smoke(Whose::restored);
}

void Deployer::Machine::restored_smoke(const event::SmokeEnded& ended) {
  restored_requests_ms_ = ended.run.ms;
  if (ended.run.passed()) {
    note("the old configuration passed its smoke test");
    return finish(Outcome::rolled_back, true);
  }
  note("the old configuration failed its smoke test: " + ended.run.fault->message);
  if (++tries_ < smokes_max) return probe_later(Time{1000} * tries_);
  not_restored("the old configuration is back in place and runs, but fails its smoke test (" +
                   ended.run.fault->message + fmt::format("; tried {} times)", tries_),
               {});
}

void Deployer::Machine::not_restored(const std::string& what, std::vector<findings::Step> left) {
  note("not restored: " + what);
  left_.push_back(findings::sentence(what));
  for (findings::Step& step : left) left_.push_back(std::move(step));
  say(what, left.empty() ? std::string() : left.front().text);
  finish(Outcome::rolled_back, false);
}

}  // namespace headroom::deploy
