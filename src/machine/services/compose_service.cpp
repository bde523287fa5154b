// SPDX-License-Identifier: Apache-2.0
#include "machine/services/compose_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell_quote.h"
#include "base/text.h"
#include "machine/clock.h"
#include "machine/services/compose_files.h"
#include "machine/services/container_processes.h"
#include "machine/services/held_signals.h"
#include "machine/services/memory_room.h"
#include "machine/services/worker_watch.h"

namespace headroom::machine {
namespace {

constexpr std::uint64_t stop_timeout_ms = 300'000;  // Its own time-out is in its file.
constexpr std::uint64_t kill_timeout_ms = 10'000;
constexpr std::uint64_t engine_slack_ms = 20'000;  // What an engine needs besides.
constexpr std::uint64_t look_timeout_ms = 5'000;   // Of one look at a container that is watched.
constexpr std::uint64_t look_every_ms = 1'000;     // While its first process lives.
constexpr std::uint64_t restart_within_ms = 15'000;
constexpr std::uint64_t pause_ms = 50;

std::string describe(const ContainerState& state) {
  std::string text = fmt::format("container {} is {}", state.name, state.status);
  if (!is_up(state) && state.status != "created") text += fmt::format(", code {}", state.exit_code);
  if (state.oom_killed) text += ", ended by its memory limit";
  if (!state.health.empty()) text += ", " + state.health;
  // Of one that runs, Podman may repeat what went wrong with a second start.
  if (!state.problem.empty() && !is_up(state))
    text += ": " + state.problem.substr(0, state.problem.find('\n'));
  return text;
}

class ComposeService : public Service {
 public:
  ComposeService(ComposeServiceOptions options, ComposeTool tool, Containers containers)
      : options_(std::move(options)), tool_(std::move(tool)), containers_(std::move(containers)) {}

  Result<ServiceStatus> status() override {
    using State = ServiceStatus::State;
    HEADROOM_TRY(const auto it, find_one());
    if (!it) return ServiceStatus{State::stopped, "it has no container"};
    ServiceStatus status{State::stopped, describe(*it)};
    if (is_up(*it)) status.state = it->status == "running" ? State::running : State::failing;
    if (it->status == "restarting" || it->status == "dead") status.state = State::failing;
    return status;
  }

  Status start(std::uint64_t timeout_ms) override {
    HEADROOM_CHECK(find_one());
    HEADROOM_TRY(const auto said, containers_.call(up(), timeout_ms));
    HEADROOM_TRY(const auto it, find_one());
    // What began and fell is told by sample(), with its code.
    const bool never_ran = !it || it->status == "created" || it->status == "initialized";
    if (!never_ran) return Done{};
    // podman-compose may end with 0 all the same.
    const std::string problem = error_line(said.errors);
    return Error{Errc::io,
                 fmt::format("expected {} to run, found {}{}{}", options_.service,
                             it ? describe(*it) : "no container of it", problem.empty() ? "" : ": ",
                             problem),
                 start_command()};
  }

  Status stop(std::optional<std::uint64_t> kill_after_ms) override;

  void observe() override {
    since_ms_ = time_of_day_ms();
    last_.reset();
    main_.clear();
    workers_ = {};
    ends_told_ = 0;
    looked_ns_ = down_ns_ = 0;
    oom_before_ = 0;
    if (const auto it = find_one(); it && *it)
      oom_before_ = read_memory_room(processes_of_container(**it)).oom_kills;
  }

  ServiceSample sample() override;

  Result<std::string> log() override {
    HEADROOM_TRY(const auto it, find_one());
    if (!it) return std::string();
    return containers_.log(tool_.engine, it->id, since_ms_);
  }

  std::string start_command() const override {
    return fmt::format("cd {} && {}", shell_quote(folder_of(options_.file)), shell_line(up()));
  }

  // Those that there are, whatever their state; by now it is known which files made them.
  Result<std::vector<ContainerState>> find() {
    HEADROOM_TRY(auto all, containers_.of_service(tool_.engine, options_.service));
    std::erase_if(all, [](const ContainerState& one) { return one.once; });
    const auto by_file = std::find_if(all.begin(), all.end(), [this](const ContainerState& one) {
      return is_made_of(one, options_.file);
    });
    const bool has_named = std::any_of(all.begin(), all.end(), [this](const ContainerState& one) {
      return one.project == options_.project;
    });
    if (!has_named && by_file != all.end()) options_.project = by_file->project;
    std::erase_if(all,
                  [this](const ContainerState& one) { return one.project != options_.project; });
    if (!all.empty()) files_ = files_of(all.front(), options_.file);
    return all;
  }

 private:
  Result<std::optional<ContainerState>> find_one() {
    HEADROOM_TRY(const auto all, find());
    if (all.size() == 1) return std::optional(all.front());
    if (all.empty()) return std::optional<ContainerState>();
    return Error{Errc::unsupported,
                 fmt::format("expected one container of the service {}, found {}: {} and {}",
                             options_.service, all.size(), all[0].name, all[1].name),
                 fmt::format("{} --scale {}=1", start_command(), options_.service)};
  }
  std::vector<std::string> up() const;
  Status wait_until_down(std::uint64_t timeout_ms);
  Status kill(const std::vector<std::string>& ids);
  void look(ServiceSample& sample);
  void note_ends(const ContainerState& state, ServiceSample& sample);
  bool has_main_process() const;

  ComposeServiceOptions options_;
  ComposeTool tool_;
  Containers containers_;
  std::vector<std::string> files_;  // Empty: not known yet.

  // Since observe().
  std::int64_t since_ms_ = 0;
  std::optional<ContainerState> last_;
  std::vector<ListedProcess> members_;
  bool is_visible_ = false;  // Its processes are of this system.
  std::string main_;
  WorkerWatch workers_;  // Of the run that goes on.
  std::size_t ends_told_ = 0;
  std::uint64_t looked_ns_ = 0;
  std::uint64_t down_ns_ = 0;  // When it was first seen down; 0: it is not.
  std::uint64_t oom_before_ = 0;
};

// podman-compose compares compose files alone, and not what env_file names: it is told to make the
// container anew. The others see for themselves.
std::vector<std::string> ComposeService::up() const {
  std::vector<std::string> argv = tool_.compose;
  for (const std::string& file : files_.empty() ? files_beside(options_.file) : files_) {
    argv.emplace_back("-f");
    argv.push_back(file);
  }
  argv.insert(argv.end(), {"-p", options_.project});
  if (!options_.profiles.empty()) argv.insert(argv.end(), {"--profile", options_.profiles[0]});
  argv.insert(argv.end(), {"up", "-d", "--no-deps"});
  if (tool_.engine == "podman") argv.emplace_back("--force-recreate");
  argv.push_back(options_.service);
  return argv;
}

// By the engine, which needs no compose file: one that is broken can still be stopped. It does not
// start again what it was told to stop.
Status ComposeService::stop(std::optional<std::uint64_t> kill_after_ms) {
  HEADROOM_TRY(const auto all, find());
  std::vector<std::string> ids, paused;
  for (const ContainerState& one : all) {
    if (is_up(one) || is_to_restart(one)) ids.push_back(one.id);
    if (one.status == "paused") paused.push_back(one.id);
  }
  if (ids.empty()) return Done{};
  if (!paused.empty()) {
    paused.insert(paused.begin(), {tool_.engine, "unpause"});
    HEADROOM_CHECK(containers_.call(paused, engine_slack_ms));
  }
  std::vector<std::string> argv{tool_.engine, "stop"};
  if (kill_after_ms) argv.insert(argv.end(), {"-t", std::to_string((*kill_after_ms + 999) / 1000)});
  argv.insert(argv.end(), ids.begin(), ids.end());
  const auto said =
      containers_.call(argv, kill_after_ms.value_or(stop_timeout_ms) + engine_slack_ms);
  const Status down = wait_until_down(said ? kill_timeout_ms : 0);
  last_.reset();
  main_.clear();
  return down ? Status(Done{}) : kill(ids);
}

Status ComposeService::kill(const std::vector<std::string>& ids) {
  std::vector<std::string> argv{tool_.engine, "kill", "--signal", "KILL"};
  argv.insert(argv.end(), ids.begin(), ids.end());
  const auto said = containers_.call(argv, engine_slack_ms);
  Status down = wait_until_down(kill_timeout_ms);
  if (!down && !said) return said.error();
  return down;
}

Status ComposeService::wait_until_down(std::uint64_t timeout_ms) {
  const std::uint64_t deadline = monotonic_ns() + timeout_ms * 1'000'000;
  for (;;) {
    HEADROOM_TRY(const auto all, find());
    const auto left = std::find_if(all.begin(), all.end(), [](const ContainerState& one) {
      return is_up(one) || one.status == "restarting";
    });
    if (left == all.end()) return Done{};
    if (monotonic_ns() >= deadline) {
      return Error{
          Errc::busy,
          fmt::format("expected {} to have stopped, but {}", options_.service, describe(*left)),
          shell_line({tool_.engine, "kill", left->name})};
    }
    sleep_ms(pause_ms);
  }
}

bool ComposeService::has_main_process() const {
  return std::any_of(members_.begin(), members_.end(), [this](const ListedProcess& one) {
    return one.pid == last_->pid && one.state != 'Z';
  });
}

// Engines take a tenth of a second to answer: while its first process lives there is little to ask.
void ComposeService::look(ServiceSample& sample) {
  if (last_) members_ = processes_of_container(*last_);
  const std::uint64_t now = monotonic_ns();
  const bool is_fresh = looked_ns_ != 0 && now < looked_ns_ + look_every_ms * 1'000'000;
  if (last_ && is_fresh && (has_main_process() || !is_visible_)) return;
  std::optional<ContainerState> state;
  if (last_) {
    const auto again = containers_.inspect(tool_.engine, {last_->id}, look_timeout_ms);
    looked_ns_ = monotonic_ns();
    if (again && again->size() == 1) state = again->front();
    // An engine that does not answer says nothing of the service.
    if (!again && again.error().code == Errc::busy) return;
  }
  if (!state) {
    auto found = find_one();
    if (!found) return;
    state = *std::move(found);
  }
  looked_ns_ = monotonic_ns();
  if (!state) {
    last_.reset();
    members_.clear();
    return;
  }
  note_ends(*state, sample);
  const bool begins_anew = !last_ || last_->started_at != state->started_at;
  if (begins_anew) {
    workers_ = {};
    is_visible_ = false;
  }
  last_ = *std::move(state);
  if (is_up(*last_)) down_ns_ = 0;
  if (!is_up(*last_) && down_ns_ == 0) down_ns_ = looked_ns_;
  members_ = processes_of_container(*last_);
  if (!members_.empty()) is_visible_ = true;
}

// How a run ended that another one followed, only the engine's events tell. The last one's end is
// in its state as well, which may be faster.
void ComposeService::note_ends(const ContainerState& state, ServiceSample& sample) {
  const bool fell = !is_up(state) && (!last_ || is_up(*last_));
  const bool restarted =
      last_ ? last_->started_at != state.started_at || last_->restarts < state.restarts
            : state.restarts > 0;
  if (since_ms_ == 0 || state.status == "created" || (!fell && !restarted)) return;
  std::vector<int> codes;
  if (const auto ends = containers_.ends(tool_.engine, state.id, since_ms_)) {
    for (std::size_t i = ends_told_; i < ends->size(); ++i) codes.push_back((*ends)[i]);
  }
  if (codes.empty() && last_) codes.push_back(fell ? state.exit_code : unknown_code);
  if (codes.empty() && fell && state.exit_code != 0) codes.push_back(state.exit_code);
  ends_told_ += codes.size();
  for (const int code : codes) {
    constexpr int by_signal = 128, last_signal = 64;
    ServiceDeath death;
    death.code = code;
    if (code > by_signal && code <= by_signal + last_signal) death.signal = code - by_signal;
    death.what = fmt::format("the main process of container {}", state.name);
    sample.deaths.push_back(std::move(death));
  }
}

ServiceSample ComposeService::sample() {
  ServiceSample sample;
  const bool knew = last_.has_value();
  look(sample);
  if (!last_) {
    // A container that was removed meanwhile is no more; an engine that is silent tells nothing.
    sample.running = looked_ns_ == 0;
    sample.main = knew || !main_.empty() ? "none" : "";
    return sample;
  }
  sample.running = is_up(*last_);
  const bool waits = monotonic_ns() < down_ns_ + restart_within_ms * 1'000'000;
  sample.will_restart = last_->status == "restarting" || (waits && is_to_restart(*last_));
  main_ = fmt::format("{}@{}", last_->id, last_->started_at);
  sample.main = main_;
  const MemoryRoom room = read_memory_room(members_);
  if (!members_.empty()) sample.memory = room.used;
  sample.memory_limit = room.limit;
  if (last_->memory_limit && (!room.limit || *last_->memory_limit < *room.limit))
    sample.memory_limit = last_->memory_limit;
  sample.oom_kills = room.oom_kills > oom_before_ ? room.oom_kills - oom_before_ : 0;
  if (last_->oom_killed) sample.oom_kills = std::max<std::uint64_t>(sample.oom_kills, 1);
  for (const ListedProcess& one : members_) {
    sample.processor_ms += one.processor_ms;
    sample.pids.push_back(one.pid);
  }
  if (is_up(*last_)) sample.replaced = workers_.look(members_, last_->pid);
  return sample;
}

}  // namespace

Result<std::unique_ptr<Service>> make_compose_service(const ComposeServiceOptions& options) {
  const Containers containers({folder_of(options.file), options.environment, options.own});
  HEADROOM_TRY(const auto tools, containers.find_tools());
  std::unique_ptr<ComposeService> first;
  for (const ComposeTool& tool : tools) {
    auto service = std::make_unique<ComposeService>(options, tool, containers);
    HEADROOM_TRY(const auto found, service->find());
    if (!found.empty()) return std::unique_ptr<Service>(std::move(service));
    if (!first) first = std::move(service);
  }
  return std::unique_ptr<Service>(std::move(first));
}

}  // namespace headroom::machine
