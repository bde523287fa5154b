// SPDX-License-Identifier: Apache-2.0
#include "machine/services/command_service.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>

#include "base/shell_quote.h"
#include "base/text.h"
#include "machine/clock.h"
#include "machine/services/kin.h"
#include "machine/services/memory_room.h"
#include "machine/services/proc_file.h"
#include "machine/services/running_program.h"
#include "machine/services/worker_watch.h"

namespace headroom::machine {
namespace {

constexpr std::uint64_t ask_timeout_ms = 30'000;  // Of `status`.
constexpr std::uint64_t log_timeout_ms = 3'000;   // Of `logs`: the service is down meanwhile.
constexpr std::size_t log_mark_size = 4096;
constexpr std::uint64_t stop_timeout_ms = 60'000;  // Of `stop`, and of its processes after it.
constexpr std::uint64_t longest_output = std::uint64_t{16} << 20U;
constexpr std::uint64_t end_timeout_ms = 10'000;  // From SIGTERM to SIGKILL.

std::string last_line(const std::string& text) {
  const std::string_view trimmed = trim(text);
  return std::string(trimmed.substr(trimmed.rfind('\n') + 1));
}

class CommandService : public Service {
 public:
  explicit CommandService(CommandServiceOptions options)
      : options_(std::move(options)),
        own_(options_.own ? options_.own : std::make_shared<OwnCommands>()),
        kin_(fmt::format("HEADROOM_SERVICE={}:{}", options_.name, options_.folder), own_) {}

  Result<ServiceStatus> status() override {
    HEADROOM_TRY(const auto look, look_on());
    ServiceStatus found;
    if (!options_.status.empty()) {
      HEADROOM_TRY(const auto said, call(options_.status, ask_timeout_ms));
      if (said.status == 0) found.state = ServiceStatus::State::running;
      found.detail = fmt::format("{} ended with {}", shell_line(options_.status), said.status);
    } else if (!look.living.empty()) {
      found.state = ServiceStatus::State::running;
      found.detail = fmt::format("{} processes", look.living.size());
    }
    return found;
  }

  Status start(std::uint64_t timeout_ms) override {
    ProgramCall program = call_of(options_.start, kin_.variable());
    program.output_file = options_.output_file;
    const std::uint64_t before = output_size();
    HEADROOM_TRY(const auto said, call(program, timeout_ms));
    HEADROOM_CHECK(look_on());
    if (said.status == 0) return Done{};
    const std::string words = last_line(output_since(before));
    return Error{Errc::io,
                 fmt::format("expected {} to end with 0, found {}{}{}", shell_line(options_.start),
                             said.status, words.empty() ? "" : ": ", words),
                 shell_line(options_.start)};
  }

  Status stop(std::optional<std::uint64_t> kill_after_ms) override {
    HEADROOM_CHECK(look_on());
    const std::uint64_t patience = kill_after_ms.value_or(stop_timeout_ms);
    const std::uint64_t deadline = monotonic_ns() + patience * 1'000'000;
    // What it ends with tells little: a service that has crashed cannot be stopped any more.
    (void)call(options_.stop, patience);
    while (monotonic_ns() < deadline) {
      HEADROOM_TRY(const auto look, look_on());
      if (look.living.empty()) {
        // Processes that are not known as its own only `status` tells of.
        HEADROOM_TRY(const auto now, status());
        if (now.state == ServiceStatus::State::stopped) break;
      }
      sleep_ms(20);
    }
    HEADROOM_CHECK(end_rest(!kill_after_ms));
    HEADROOM_TRY(const auto now, status());
    if (now.state == ServiceStatus::State::stopped) return forget();
    return Error{Errc::busy,
                 fmt::format("expected {} to have stopped the service, but {}",
                             shell_line(options_.stop), now.detail),
                 shell_line(options_.stop)};
  }

  void observe() override {
    (void)look_on();
    noted_ = {};
    main_.clear();
    core_dumps_ = 0;
    ended_full_ = 0;
    oom_kills_before_ = read_memory_room(last_.living).oom_kills;
    // Whoever writes to it appends, and goes on at its new end.
    if (output_size() > longest_output) (void)::truncate(options_.output_file.c_str(), 0);
    output_before_ = output_size();
    log_before_size_ = 0;
    log_mark_.clear();
    if (options_.logs.empty()) return;
    if (auto said = read_logs()) {
      log_before_size_ = said->written;
      log_mark_ =
          said->output.substr(said->output.size() - std::min(said->output.size(), log_mark_size));
    }
  }

  ServiceSample sample() override;
  Result<std::string> log() override;
  std::string start_command() const override {
    return fmt::format("cd {} && {}", shell_quote(options_.folder), shell_line(options_.start));
  }

 private:
  ProgramCall call_of(const std::vector<std::string>& argv, std::string variable) const {
    ProgramCall program{argv, options_.folder, options_.environment, "", own_};
    program.environment.push_back(std::move(variable));
    return program;
  }
  Result<CallResult> call(const std::vector<std::string>& argv, std::uint64_t timeout_ms) {
    return call(call_of(argv, std::string(own_command_variable)), timeout_ms);
  }
  // Looks after the service's processes meanwhile: one that nobody asks for how it ended would
  // still be there for a command that waits for it.
  Result<CallResult> call(const ProgramCall& program, std::uint64_t timeout_ms) {
    const std::string name = shell_line(program.argv);
    const bool is_start = !program.output_file.empty();
    HEADROOM_TRY(const auto running, RunningProgram::start(program));
    const std::uint64_t deadline = monotonic_ns() + timeout_ms * 1'000'000;
    while (!running->wait(20)) {
      if (!is_start) HEADROOM_CHECK(look_on());
      if (monotonic_ns() < deadline) continue;
      return Error{Errc::busy,
                   fmt::format("expected {} to end within {:.0f} s, and it did not", name,
                               static_cast<double>(timeout_ms) / 1000),
                   ""};
    }
    return CallResult{running->status(), std::move(running->output()), running->errors(),
                      running->written()};
  }

  Result<KinLook> look_on() {
    add_pidfile();
    HEADROOM_TRY(last_, kin_.look());
    for (const KinEnd& end : last_.ended) note(end);
    return last_;
  }
  void add_pidfile() {
    if (options_.pidfile.empty()) return;
    const auto text = read_proc_file(options_.pidfile);
    const auto pid = text ? parse_u64(trim(*text)) : std::nullopt;
    const auto process = pid && *pid > 1 ? read_process(*pid) : std::nullopt;
    if (process && !is_younger_than_pidfile(*process)) kin_.add(*process);
  }
  // Its number was given to somebody else, after whoever wrote the file had ended.
  bool is_younger_than_pidfile(const ListedProcess& process) const {
    constexpr std::int64_t slack_ms = 2000;  // Of the clocks: the kernel's ticks, a file's time.
    struct stat file {};
    if (::stat(options_.pidfile.c_str(), &file) != 0) return true;
    const std::int64_t written_ms =
        static_cast<std::int64_t>(file.st_mtim.tv_sec) * 1000 + file.st_mtim.tv_nsec / 1'000'000;
    return started_at_ms(process) > written_ms + slack_ms;
  }

  Result<CallResult> read_logs();
  std::string new_part(CallResult said) const;
  void note(const KinEnd& end);
  bool was_full_lately(std::uint64_t pid) const;
  Status end_rest(bool gently);
  Status forget();

  std::uint64_t output_size() const {
    struct stat status {};
    return ::stat(options_.output_file.c_str(), &status) == 0
               ? static_cast<std::uint64_t>(status.st_size)
               : 0;
  }
  std::string output_since(std::uint64_t offset) const {
    return read_end_of_file(options_.output_file, offset);
  }

  CommandServiceOptions options_;
  std::shared_ptr<OwnCommands> own_;
  Kin kin_;
  KinLook last_;

  // Since observe().
  struct Noted {
    std::vector<ServiceDeath> deaths, replaced;
    bool root_ended = false;
    KinEnd last_root;
  } noted_;
  std::string main_;  // The main process of the last sample; empty: none yet.
  std::uint64_t core_dumps_ = 0;
  std::uint64_t oom_kills_before_ = 0;
  std::map<std::uint64_t, std::uint64_t> nearly_full_;  // When each was last seen so, by its pid.
  std::uint64_t ended_full_ = 0;
  std::uint64_t output_before_ = 0;
  std::uint64_t log_before_size_ = 0;
  std::string log_mark_;  // The end of what `logs` printed then.
};

ServiceDeath death_of(const KinEnd& end, bool main) {
  return {end.code.value_or(unknown_code), end.signal, main, process_name(end.pid, end.command)};
}

void CommandService::note(const KinEnd& end) {
  if (end.dumped_core) ++core_dumps_;
  if (end.code != 0 && !end.came_again && was_full_lately(end.pid)) ++ended_full_;
  if (end.was_root) {
    noted_.root_ended = true;
    noted_.last_root = end;
  }
  // A helper that ends well, or a launcher on the way to a daemon, is nothing to speak of; whether
  // it was the last of the service, sample() sees.
  if (end.code && *end.code != 0) noted_.deaths.push_back(death_of(end, end.was_root));
  if (!end.came_again) return;
  noted_.replaced.push_back(death_of(end, false));
  noted_.replaced.back().what += ", which its parent started again,";
}

// Who cannot get memory gives back what it has on its way to the end.
bool CommandService::was_full_lately(std::uint64_t pid) const {
  constexpr std::uint64_t lately_ns = std::uint64_t{5} * 1'000'000'000;
  const auto seen = nearly_full_.find(pid);
  return seen != nearly_full_.end() && monotonic_ns() - seen->second < lately_ns;
}

ServiceSample CommandService::sample() {
  ServiceSample sample;
  const auto look = look_on();
  if (!look) return sample;
  const auto roots = kin_.roots();
  sample.running = !roots.empty();
  if (!roots.empty()) {
    main_ = fmt::format("{}@{}", roots.front().pid, roots.front().started);
  } else if (noted_.root_ended && noted_.deaths.empty() && !main_.empty()) {
    noted_.deaths.push_back(death_of(noted_.last_root, true));  // With 0, and nothing is left.
  }
  sample.main = main_;
  noted_.root_ended = false;
  sample.deaths = std::exchange(noted_.deaths, {});
  sample.replaced = std::exchange(noted_.replaced, {});
  const MemoryRoom room = read_memory_room(look->living);
  if (!look->living.empty()) sample.memory = room.used;
  sample.memory_limit = room.limit;
  for (const std::uint64_t pid : room.nearly_full) nearly_full_[pid] = monotonic_ns();
  sample.oom_kills = ended_full_;
  if (room.oom_kills > oom_kills_before_) sample.oom_kills += room.oom_kills - oom_kills_before_;
  sample.core_dumps = core_dumps_;
  for (const ListedProcess& one : look->living) {
    sample.processor_ms += one.processor_ms;
    sample.pids.push_back(one.pid);
  }
  return sample;
}

// The log is what `logs` prints, from where it stood, and what the service writes to the streams
// that `start` left it.
Result<std::string> CommandService::log() {
  if (options_.logs.empty()) return output_since(output_before_);
  HEADROOM_TRY(auto said, read_logs());
  return output_since(output_before_) + new_part(std::move(said));
}

// What was not there when it was observed; all of it if it does not go on from there, because the
// log was rotated for instance.
std::string CommandService::new_part(CallResult said) const {
  if (said.written < log_before_size_) return std::move(said.output);
  const std::uint64_t fresh = said.written - log_before_size_;
  if (fresh > said.output.size()) return std::move(said.output);
  const std::size_t begin = said.output.size() - static_cast<std::size_t>(fresh);
  const std::string_view before = std::string_view(said.output).substr(0, begin);
  return before.ends_with(log_mark_) ? said.output.substr(begin) : std::move(said.output);
}

// A command that prints the log and goes on waiting for more is ended after its time; what it has
// printed by then counts.
Result<CallResult> CommandService::read_logs() {
  ProgramCall program = call_of(options_.logs, std::string(own_command_variable));
  program.keeps_end = true;
  HEADROOM_TRY(const auto running, RunningProgram::start(program));
  const std::uint64_t deadline = monotonic_ns() + log_timeout_ms * 1'000'000;
  while (!running->wait(20) && monotonic_ns() < deadline) HEADROOM_CHECK(look_on());
  return CallResult{running->status(), std::move(running->output()), running->errors(),
                    running->written()};
}

Status CommandService::end_rest(bool gently) {
  if (gently && !last_.living.empty()) kin_.send_all(SIGTERM);
  std::uint64_t deadline = monotonic_ns() + (gently ? end_timeout_ms : 0) * 1'000'000;
  for (;;) {
    HEADROOM_TRY(const auto look, look_on());
    if (look.living.empty()) return Done{};
    if (monotonic_ns() >= deadline) {
      kin_.send_all(SIGKILL);
      if (monotonic_ns() >= deadline + end_timeout_ms * 1'000'000) break;
    }
    sleep_ms(20);
  }
  const ListedProcess& left = last_.living.front();
  return Error{Errc::busy,
               fmt::format("expected every process of the service to end, and {} did not",
                           process_name(left.pid, left.name)),
               fmt::format("ps -o pid,stat,wchan,cmd -p {}", left.pid)};
}

// What ended because we stopped it is no death.
Status CommandService::forget() {
  noted_ = {};
  main_.clear();
  return Done{};
}

}  // namespace

std::unique_ptr<Service> make_command_service(CommandServiceOptions options) {
  return std::make_unique<CommandService>(std::move(options));
}

}  // namespace headroom::machine
