// SPDX-License-Identifier: Apache-2.0
// A deployment as a pure state machine: it is told what happened and when, and says what to do. It
// starts nothing, waits for nothing and asks no clock. The driver that does as it says is service/.
//
// The order is: gate, baseline, stop, apply, start, health, smoke test, GPU and speed, watch, then
// commit; or from any of them back: stop, undo, start, health, the same smoke test. Before every
// step whose effects outlive the process there is an action Keep with a record that names it, so
// that resume() can end what a killed deployer began.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "deploy/gate.h"
#include "deploy/judge.h"
#include "deploy/record.h"
#include "deploy/spec.h"
#include "findings/step.h"

namespace headroom::deploy {

// Which configuration is spoken of.
enum class Whose : std::uint8_t { baseline, candidate, restored };

// What happened. Where an event answers an action, it says so: each such action is answered by
// exactly one event, and a list of actions has at most one of them, after all that is done at once.
// Samples and signals may come at any time, also before an answer.
namespace event {
struct Begin {};  // The first event of a new deployment.
// The first event of one that is resumed: what the change engine's journal has of it.
struct Found {
  enum class Change : std::uint8_t {
    none,      // No change of this deployment is in the journal, or it was undone.
    partly,    // It was interrupted: files may be old and new, until it is undone.
    in_force,  // All of it is in place.
  };
  Change change = Change::none;
  std::string change_id;
};
struct GateJudged {  // Answers LookAtGate.
  Gate gate;
};
struct ServiceSeen {  // Answers LookAtService.
  enum class State : std::uint8_t {
    stopped,  // It is not running, and nothing tries to start it.
    running,
    failing,  // It ended with a failure, or its manager starts it again and again.
  };
  State state = State::stopped;
  std::string detail;  // "active (running), main process 4711".
};
struct Stopped {};  // Answers StopService: no process of it is left.
struct NotStopped {
  std::string why;
};
struct Applied {  // Answers Apply.
  std::string change_id;
};
struct NotApplied {
  Error error;
  bool taken_back = true;  // The files are as they were; else `change_id` has to be undone.
  std::string change_id;
};
struct Undone {                   // Answers Undo.
  std::vector<std::string> left;  // What was new, changed since and so was left there.
};
struct NotUndone {
  Error error;  // `next`: what a person has to type.
};
struct Started {};  // Answers StartService; it need not be healthy yet.
struct NotStarted {
  std::string why;
};
struct HealthSeen {          // Answers ProbeHealth.
  std::uint64_t number = 0;  // The number of the ProbeHealth.
  bool healthy = false;
  bool answered = true;  // False: there was no answer within the time of one probe.
  std::string detail;    // "status 503", "connection refused".
};
struct SmokeEnded {          // Answers RunSmoke, also after CancelSmoke.
  std::uint64_t number = 0;  // The number of the RunSmoke.
  SmokeRun run;
  std::optional<GpuUse> gpu;  // Where the RunSmoke asked for it.
};
// One look at the service after Observe: at once when a process of it ended, else four times a
// second.
struct Sample {
  std::uint64_t start = 0;       // The number of the Observe.
  bool running = true;           // Its main process lives.
  bool will_restart = false;     // Where it does not: its manager is about to start it again.
  std::string main;              // Tells one main process from the next: its pid and start time.
  std::vector<Death> deaths;     // Since the sample before; of Observe's time alone.
  std::uint64_t oom_kills = 0;   // Since the start.
  std::uint64_t core_dumps = 0;  // Since the start.
  std::optional<Bytes> memory, memory_limit;  // Of all its processes; in force on them.
  std::optional<std::uint64_t> processor_ms;  // Used since the start, by all its processes.
  std::vector<std::string> alarms;  // New messages of the kernel that log rules take for trouble.
};
struct Diagnosed {  // Answers Diagnose.
  LogVerdict verdict;
};
struct Committed {};  // Answers Commit.
struct Signal {       // Somebody wants headroom to end.
  std::string name;   // "SIGINT".
};
struct NotKept {  // A Keep failed. The actions after it in its list were not done.
  Error error;
};
struct Tick {};  // The time that was asked for has come.
}  // namespace event
using Event = std::variant<event::Begin, event::Found, event::GateJudged, event::ServiceSeen,
                           event::Stopped, event::NotStopped, event::Applied, event::NotApplied,
                           event::Undone, event::NotUndone, event::Started, event::NotStarted,
                           event::HealthSeen, event::SmokeEnded, event::Sample, event::Diagnosed,
                           event::Committed, event::Signal, event::NotKept, event::Tick>;

// What the deployment came to: the report (docs/schema/deploy.schema.json).
struct DeployReport {
  std::string name;
  Outcome outcome = Outcome::refused;
  std::optional<findings::Cause> cause;
  std::string why;  // Of a roll-back without a cause.
  Gate gate;
  Time began{0};
  std::vector<TimelineEntry> timeline;
  std::optional<double> baseline_ms, candidate_ms, ratio;  // Medians of the smoke tests.
  std::optional<double> downtime_s;                        // Nothing: it was never down.
  std::optional<bool> restored;       // Nothing: there was nothing to put back.
  std::string change_id;              // What `headroom undo` takes; empty: nothing was changed.
  std::vector<findings::Step> left;   // What a person has to do where `restored` is false.
  std::vector<findings::Step> next;   // What to do now.
  std::vector<std::string> warnings;  // What was passed over by --force, and what is not known.
  std::string postmortem;             // The path of the post-mortem; the driver fills it in.
  std::string ended_by;               // The signal that ended it; empty: none did.
  // Of each request that was answered well, in this order; empty where none was made.
  std::vector<double> candidate_requests_ms, restored_requests_ms;
  std::optional<Bytes> memory_peak;  // Of the candidate, as far as it was seen.
};

// What to do, in this order.
namespace action {
struct LookAtGate {};
struct LookAtService {};
// Durable (fsync of file and folder) before the actions after it begin. Where it fails, the driver
// says NotKept and drops the rest of the list; if it need not succeed, it goes on.
struct Keep {
  Record record;
  bool must = true;
};
struct RunSmoke {
  Whose whose = Whose::baseline;
  std::uint64_t number = 0;
  std::optional<Answer> compare_with;  // The baseline's, where the file says same_answers.
  bool measure_gpu = false;            // Look at the GPU before, during and after.
};
struct CancelSmoke {};  // It ends soon, and its SmokeEnded comes all the same.
struct StopService {
  std::optional<Time> kill_after;  // SIGKILL for what is left then; nothing: its own time-out.
};
struct Apply {};
struct Undo {
  std::string change_id;
};
struct StartService {  // Makes the service manager read the files anew first.
  Whose whose = Whose::candidate;
};
struct ProbeHealth {  // Once, with a time-out of a few seconds at most.
  std::uint64_t number = 0;
};
struct Observe {  // Samples from now on, until StopObserving; right before StartService.
  std::uint64_t start = 0;
};
struct StopObserving {};
// By the log rules: the service's log and the kernel's messages since Observe. A broken connection
// is seen before the death that broke it: the driver first waits up to a second for one, and sends
// a Sample of what it finds, before it answers.
struct Diagnose {};
struct Commit {  // Nothing goes back from here on: remove what would finish a roll-back at boot.
  std::string change_id;
};
struct Say {  // To the user, on stderr.
  std::string text;
  std::string next;  // The next command; may be empty.
};
struct WakeAt {  // A Tick is wanted then; a later one replaces it.
  Time when{0};
};
struct Finish {
  DeployReport report;
};
}  // namespace action
using Action =
    std::variant<action::LookAtGate, action::LookAtService, action::Keep, action::RunSmoke,
                 action::CancelSmoke, action::StopService, action::Apply, action::Undo,
                 action::StartService, action::ProbeHealth, action::Observe, action::StopObserving,
                 action::Diagnose, action::Commit, action::Say, action::WakeAt, action::Finish>;

// A deployment that only measures: after its smoke test, or whatever fails before, the change is
// taken back and the service stays stopped, with a record that says so; its report has the outcome
// `tried`. Several may follow each other. resume() with the record of the last one brings the
// service back.
struct Trial {
  SmokeRun baseline;        // Of the configuration that is there; it passed.
  bool is_stopped = false;  // By the trial before; the record of that one still stands.
};

struct Options {
  bool apply = false;         // Else only the gate is asked.
  bool force = false;         // Go on where the gate refuses, and without a baseline.
  std::string spec_path;      // Of SERVICE.toml, for the record.
  std::string again;          // The command line that was typed, for messages.
  std::string to_apply;       // What does it after a dry run; empty: nothing to say.
  std::string start_command;  // What a person types to start the service by hand.
  std::optional<Trial> trial;
};

// One thread.
class Deployer {
 public:
  Deployer(ServiceSpec spec, Options options);
  // Of a deployment that was killed: its first event is Found. It ends what `record` says was
  // begun, and nothing else. Requires: needs_finishing(record).
  static Deployer resume(ServiceSpec spec, Options options, Record record);

  Deployer(Deployer&&) noexcept;
  Deployer& operator=(Deployer&&) noexcept;
  ~Deployer();

  // Events that answer nothing that was asked, or speak of an earlier start, are ignored; after
  // Finish, all are. A `now` before that of the last call counts as that one.
  std::vector<Action> step(const Event& event, Time now);

  bool is_over() const;
  // For `headroom deploy --status`: the last record that was to be kept.
  const Record& record() const;

 private:
  class Machine;
  explicit Deployer(std::unique_ptr<Machine> machine);
  std::unique_ptr<Machine> machine_;
};

}  // namespace headroom::deploy
