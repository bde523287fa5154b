// SPDX-License-Identifier: Apache-2.0
// The inside of the deployer, for its own sources: the way there is in forward.cpp, the way back in
// back.cpp, what is seen of a running candidate in observing.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deploy/deployer.h"
#include "supervisor/growth.h"

namespace headroom::deploy {

class Deployer::Machine {
 public:
  Machine(ServiceSpec spec, Options options);
  Machine(ServiceSpec spec, Options options, Record record);

  std::vector<Action> step(const Event& event, Time now);
  bool is_over() const { return phase_ == Phase::over; }
  const Record& record() const { return record_; }

 private:
  enum class Phase : std::uint8_t {
    begin,
    gate,
    looking,   // Whether the service runs.
    baseline,  // Its smoke test.
    stopping,
    applying,
    starting,
    health,
    smoke,
    watch,
    diagnosing,  // Something is wrong, and the log may say what.
    committing,
    resuming,  // A commit: whether the service runs.
    back_stop,
    back_undo,
    back_start,
    back_health,
    back_smoke,
    over,
  };

  // ---- forward.cpp ----
  void on(const event::Begin& begin);
  void on(const event::Found& found);
  void on(const event::GateJudged& judged);
  void on(const event::ServiceSeen& seen);
  void on(const event::Applied& applied);
  void on(const event::NotApplied& failed);
  void on(const event::Committed& committed);
  void on(const event::NotKept& failed);
  void on(const event::Signal& signal);
  void begin_trial();
  void begin_baseline();
  void take_baseline(const SmokeRun& run);
  void stop_old();
  void start_candidate();
  void commit();
  void end_commit_of(const event::ServiceSeen& seen);

  // ---- events that both ways have: deployer.cpp ----
  void on(const event::Stopped& stopped);
  void on(const event::NotStopped& failed);
  void on(const event::Started& started);
  void on(const event::NotStarted& failed);
  void on(const event::HealthSeen& seen);
  void on(const event::SmokeEnded& ended);
  void on(const event::Tick& tick);

  // ---- observing.cpp ----
  void on(const event::Sample& sample);
  void on(const event::Diagnosed& diagnosed);
  void note_deaths(const event::Sample& sample);
  void note_main(const event::Sample& sample);
  void note_end(const event::Sample& sample);
  void note_memory(const event::Sample& sample);
  void judge_now();
  void candidate_health(const event::HealthSeen& seen);
  void watched_health(const event::HealthSeen& seen);
  void candidate_smoke(const event::SmokeEnded& ended);
  void await_start();
  bool waits_for_others() const;
  bool smoke_again();
  void begin_smoke();
  void begin_watch();
  void end_trial();
  void end_watch();
  void stays_down();
  void health_is_late();

  // ---- back.cpp ----
  void on(const event::Undone& undone);
  void on(const event::NotUndone& failed);
  void roll_back(std::optional<findings::Cause> cause, std::string why);
  void stop_for_roll_back(Time kill_after);
  void undo_or_start();
  void start_old();
  void start_old_again(const std::string& why);
  void restored_health(const event::HealthSeen& seen);
  void smoke_of_old();
  void restored_smoke(const event::SmokeEnded& ended);
  void not_restored(const std::string& what, std::vector<findings::Step> left);

  // ---- ends and records: ending.cpp ----
  void refuse(std::optional<findings::Cause> cause, const std::string& why);
  void finish(Outcome outcome, std::optional<bool> restored);
  DeployReport report() const;
  std::vector<findings::Step> next_steps() const;
  std::optional<double> downtime_s() const;

  void enter(Stage stage);  // Keeps the record, before anything after it is done.
  void note(std::string event);
  void note_failure();
  void say(std::string text, std::string next = {});
  template <class A>
  void act(A action) {
    actions_.emplace_back(std::move(action));
  }
  void run_smoke(Whose whose);
  void wait_for_health();
  void probe();
  void probe_later(Time pause) { probe_at_ = now_ + pause; }
  void go_on();
  void ask_to_wake();
  // Nothing of the file or the service has been touched by this deployment.
  bool is_untouched() const { return record_.stage == Stage::looking; }
  bool is_going_back() const { return record_.stage == Stage::rolling_back; }
  // Whoever asked headroom to end waits for the step that is being done. True: it goes back now.
  bool ends_now();

  ServiceSpec spec_;
  Options options_;
  Phase phase_ = Phase::begin;
  Time now_{0};
  std::vector<Action> actions_;
  Record record_;
  Gate gate_;
  std::vector<std::string> warnings_;
  std::vector<findings::Step> left_;

  Seen seen_;
  bool observes_ = false;
  bool smokes_ = false;           // A RunSmoke is not answered yet.
  std::uint64_t starts_ = 0;      // The number of the last Observe …
  std::uint64_t smokes_run_ = 0;  // … and of the last RunSmoke.
  std::uint64_t probes_ = 0;      // Likewise of ProbeHealth; the last one is not answered yet.
  bool probing_ = false;
  std::string main_;                // Of the last sample.
  bool main_failed_ = false;        // It ended with a failure, and no other has been seen since.
  std::optional<Death> clean_end_;  // It ended as one does who was asked to.
  std::size_t deaths_before_smoke_ = 0;
  bool restarted_elsewhere_ = false;  // Since the smoke test began.
  int smokes_again_ = 0;
  std::optional<event::SmokeEnded> held_smoke_;  // It ended while the log was read.
  bool commits_ = false;  // It was decided before; it only has to come up once more.
  std::string ends_by_;   // The signal that waits for a step to end.
  std::string ended_by_;  // The signal that it ended for.
  std::vector<double> restored_requests_ms_;
  bool is_watched_out_ = false;    // Its time is over; the last health request is not well yet.
  std::optional<Time> bad_since_;  // In the watch: the first of the health requests that failed.
  std::optional<supervisor::GrowthWatch> growth_;
  Phase interrupted_ = Phase::watch;  // What diagnosing goes on with.
  std::optional<std::uint64_t> processor_ms_, processor_at_answer_;

  bool records_fail_ = false;      // Nothing can be kept any more: go back without.
  int tries_ = 0;                  // Of the step of the way back that is being done.
  Time last_answer_{0};            // To a health request, and a good one.
  std::optional<Time> deadline_;   // Of health or watch.
  std::optional<Time> probe_at_;   // When something is to be tried (again).
  std::optional<Time> down_at_;    // When a service that is gone counts as stopped for good.
  std::optional<Time> asked_for_;  // The last WakeAt.
};

}  // namespace headroom::deploy
