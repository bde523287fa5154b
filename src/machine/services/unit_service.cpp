// SPDX-License-Identifier: Apache-2.0
// A service that systemd manages: a unit, or the one that a quadlet becomes.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include "base/text.h"
#include "machine/clock.h"
#include "machine/services/control_group.h"
#include "machine/services/held_signals.h"
#include "machine/services/memory_room.h"
#include "machine/services/running_program.h"
#include "machine/services/units.h"
#include "machine/services/worker_watch.h"

namespace headroom::machine {
namespace {

constexpr std::uint64_t stop_timeout_ms = 120'000;  // systemd's own is 90 s.
constexpr std::uint64_t kill_timeout_ms = 10'000;
constexpr std::uint64_t log_timeout_ms = 30'000;
constexpr std::uint64_t pause_ms = 50;

bool is_up(const UnitState& state) {
  return state.active == "active" || state.active == "reloading";
}
bool is_down(const UnitState& state) {
  return state.active == "inactive" || state.active == "failed";
}
bool is_restarting(const UnitState& state) {
  return state.sub.starts_with("auto-restart");
}

std::string describe(const UnitState& state) {
  std::string text = fmt::format("{} ({})", state.active, state.sub);
  if (state.active == "failed") text += ", result " + state.result;
  if (state.main_pid != 0) text += fmt::format(", main process {}", state.main_pid);
  return text;
}

class UnitService : public Service {
 public:
  UnitService(std::unique_ptr<UnitBus> bus, UnitServiceOptions options)
      : bus_(std::move(bus)), options_(std::move(options)) {}

  Result<ServiceStatus> status() override {
    using State = ServiceStatus::State;
    HEADROOM_TRY(const UnitState state, bus_->state(options_.unit));
    ServiceStatus status{State::stopped, describe(state)};
    if (is_up(state)) status.state = State::running;
    if (state.active == "failed" || is_restarting(state)) status.state = State::failing;
    return status;
  }

  Status start(std::uint64_t timeout_ms) override {
    HEADROOM_CHECK(bus_->reload());
    HEADROOM_TRY(const UnitState before, bus_->state(options_.unit));
    if (before.load != "loaded") {
      return Error{
          Errc::not_found,
          fmt::format("expected systemd to have loaded {}, found {}", options_.unit, before.load),
          systemctl("status")};
    }
    if (before.active == "failed") HEADROOM_CHECK(bus_->forget_failure(options_.unit));
    HEADROOM_CHECK(bus_->start(options_.unit));
    // What began and fell is as much an end of the waiting as what runs.
    HEADROOM_TRY(const UnitState now, wait_for(timeout_ms, [](const UnitState& state) {
                   return is_up(state) || is_restarting(state) || state.active == "failed";
                 }));
    if (is_up(now)) return Done{};
    return Error{Errc::io,
                 fmt::format("expected {} to run, found {}", options_.unit, describe(now)),
                 systemctl("status")};
  }

  Status stop(std::optional<std::uint64_t> kill_after_ms) override {
    HEADROOM_CHECK(bus_->stop(options_.unit));
    const std::uint64_t patience = kill_after_ms.value_or(stop_timeout_ms);
    HEADROOM_TRY(UnitState now, wait_for(patience, is_down));
    if (!is_down(now)) {
      HEADROOM_CHECK(bus_->kill(options_.unit, SIGKILL));
      HEADROOM_TRY(now, wait_for(kill_timeout_ms, is_down));
    }
    // Stopping it ends what it began to restart, and is no failure.
    if (now.active == "failed") HEADROOM_CHECK(bus_->forget_failure(options_.unit));
    if (is_down(now)) return Done{};
    return Error{Errc::busy,
                 fmt::format("expected {} to have stopped, found {}", options_.unit, describe(now)),
                 systemctl("status")};
  }

  void observe() override {
    last_.reset();
    workers_ = {};
    core_dumps_ = 0;
    since_s_ = time_of_day_ms() / 1000;
    const auto state = bus_->state(options_.unit);
    restarts_ = 0;  // A start of its own counts from nothing.
    oom_before_ = state ? read_memory_room(members_of(*state)).oom_kills : 0;
  }

  ServiceSample sample() override;

  Result<std::string> log() override {
    ProgramCall call{
        {"journalctl", options_.user ? "--user" : "--system", "--unit", options_.unit,
         fmt::format("--since=@{}", since_s_), "--output=cat", "--no-pager", "--lines=5000"},
        "/",
        {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"},
        "",
        nullptr};
    HEADROOM_TRY(const auto said, call_program(call, log_timeout_ms));
    if (said.status == 0) return said.output;
    return Error{Errc::io, fmt::format("journalctl ended with {}: {}", said.status, said.errors),
                 ""};
  }

  std::string start_command() const override { return systemctl("start"); }

 private:
  std::string systemctl(const char* what) const {
    return fmt::format("{}systemctl {}{} {}", options_.user ? "" : "sudo ",
                       options_.user ? "--user " : "", what, options_.unit);
  }
  Result<UnitState> wait_for(std::uint64_t timeout_ms,
                             const std::function<bool(const UnitState&)>& is_it) {
    const std::uint64_t deadline = monotonic_ns() + timeout_ms * 1'000'000;
    for (;;) {
      HEADROOM_TRY(UnitState state, bus_->state(options_.unit));
      if (is_it(state) || monotonic_ns() >= deadline) return state;
      sleep_ms(pause_ms);
    }
  }
  static std::vector<ListedProcess> members_of(const UnitState& state) {
    return processes_of_group(state.control_group);
  }
  void note_end(const UnitState& state, ServiceSample& sample);

  std::unique_ptr<UnitBus> bus_;
  UnitServiceOptions options_;
  std::optional<UnitState> last_;
  WorkerWatch workers_;  // Of the main process that runs.
  std::uint32_t restarts_ = 0;
  std::uint64_t core_dumps_ = 0;
  std::uint64_t oom_before_ = 0;
  std::int64_t since_s_ = 0;
};

// How the main process ended stays known until the next one starts.
void UnitService::note_end(const UnitState& state, ServiceSample& sample) {
  const bool restarted = state.restarts > restarts_;
  const bool fell = is_down(state) && last_ && !is_down(*last_);
  if (!restarted && !fell) return;
  ServiceDeath death;
  death.what = fmt::format("the main process of {}", options_.unit);
  const bool is_known = state.main_pid == 0 && state.exit_kind != 0;
  if (!is_known) {
    death.code = unknown_code;
  } else if (state.exit_kind == CLD_EXITED) {
    death.code = state.exit_status;
  } else {
    death.signal = state.exit_status;
    death.code = 128 + state.exit_status;
    if (state.exit_kind == CLD_DUMPED) ++core_dumps_;
  }
  sample.deaths.push_back(std::move(death));
  restarts_ = std::max(restarts_, state.restarts);
}

ServiceSample UnitService::sample() {
  ServiceSample sample;
  const auto state = bus_->state(options_.unit);
  if (!state) return sample;  // A bus that does not answer says nothing of the service.
  sample.running = is_up(*state) || (state->active == "activating" && !is_restarting(*state));
  sample.will_restart = is_restarting(*state);
  if (state->main_pid != 0)
    sample.main = fmt::format("{}@{}", state->main_pid, state->main_started_us);
  if (last_ && sample.main.empty()) sample.main = "none";
  note_end(*state, sample);
  const auto members = members_of(*state);
  const MemoryRoom room = read_memory_room(members);
  if (!members.empty()) sample.memory = room.used;
  sample.memory_limit = room.limit;
  sample.oom_kills = room.oom_kills > oom_before_ ? room.oom_kills - oom_before_ : 0;
  if (state->result == "oom-kill") sample.oom_kills = std::max<std::uint64_t>(sample.oom_kills, 1);
  sample.core_dumps = core_dumps_;
  for (const ListedProcess& one : members) {
    sample.processor_ms += one.processor_ms;
    sample.pids.push_back(one.pid);
  }
  const bool begins_anew = last_ && last_->main_started_us != state->main_started_us;
  if (begins_anew) workers_ = {};
  sample.replaced = workers_.look(members, state->main_pid);
  last_ = *state;
  return sample;
}

}  // namespace

Result<std::unique_ptr<Service>> make_unit_service(UnitServiceOptions options) {
  HEADROOM_TRY(auto bus, UnitBus::open(options.user));
  return std::unique_ptr<Service>(
      std::make_unique<UnitService>(std::move(bus), std::move(options)));
}

}  // namespace headroom::machine
