// SPDX-License-Identifier: Apache-2.0
#include "run/command/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "machine/clock.h"
#include "machine/process_handle.h"
#include "machine/program.h"
#include "machine/tree/siblings.h"
#include "machine/tree/wait.h"
#include "run/command/variables.h"

namespace headroom::run {
namespace {

constexpr std::array<const char*, 3> lost_rank_names = {"stop", "continue",
                                                        "restart"};  // Of LostRank.
constexpr int child_signal = 17, kill_signal = 9, terminate_signal = 15;
constexpr std::uint64_t ms_in_ns = 1'000'000;

std::uint64_t now_ms() {
  return machine::monotonic_ns() / ms_in_ns;
}

std::string job_name(int port) {
  return fmt::format("{}-{}", machine::own_pid(), port);
}

std::string how(const machine::TreeExit& exit) {
  return exit.signal ? fmt::format("was ended by signal {}", *exit.signal)
                     : fmt::format("ended with exit code {}", exit.code);
}

constexpr std::uint32_t most_restarts = 3;  // Of each rank.

// The ranks while they run.
class Ranks {
 public:
  Ranks(const RankJob& job, std::vector<machine::SiblingCommand> commands,
        machine::Siblings siblings, machine::Signals& signals,
        const std::function<void(const std::string&)>& say)
      : job_(job),
        commands_(std::move(commands)),
        restarts_(commands_.size()),
        siblings_(std::move(siblings)),
        signals_(signals),
        say_(say) {}

  RanksEnd wait() {
    while (siblings_.running() > 0) {
      const std::array one{signals_.descriptor()};
      machine::wait_readable(one, until_kill());
      while (const auto arrived = signals_.next()) pass_on(*arrived);
      while (const auto ended = siblings_.next_exit()) take(*ended);
      if (kill_at_ && now_ms() >= *kill_at_) kill();
    }
    // Without the lost ones the job was done.
    return any_completed_ && job_.lost != LostRank::stop ? RanksEnd{} : first_;
  }

 private:
  std::optional<std::uint64_t> until_kill() const {
    if (!kill_at_) return std::nullopt;
    constexpr std::uint64_t again_ms = 100;
    const std::uint64_t now = now_ms();
    return *kill_at_ > now ? *kill_at_ - now : again_ms;
  }

  // The terminal has sent its own to every process already.
  void pass_on(const machine::ArrivedSignal& arrived) {
    if (arrived.number == child_signal || arrived.from_terminal) return;
    siblings_.send_all(arrived.number);
    constexpr std::array end_signals{1, 2, 3, 15};  // SIGHUP, SIGINT, SIGQUIT, SIGTERM.
    asked_to_end_ = asked_to_end_ || std::find(end_signals.begin(), end_signals.end(),
                                               arrived.number) != end_signals.end();
  }

  void take(const machine::SiblingExit& ended) {
    if (ended.exit.code == 0) {
      any_completed_ = true;
      end_late_comers();
      return;
    }
    const bool is_first = first_.code == 0;
    if (is_first) first_ = {ended.exit.code, ended.exit.signal};
    // The others end because of the first, or were asked; a late comer because nobody is left.
    if (asked_to_end_ || (kill_at_ && (!only_late_comers_ || restarts_[ended.index] > 0))) return;
    say_(fmt::format("rank {} (PID {}) {}{}", ended.index, ended.pid, how(ended.exit),
                     what_follows(ended.index)));
  }

  // Does it, and says it.
  std::string what_follows(std::size_t lost) {
    if (siblings_.running() == 0) return "";
    if (job_.lost == LostRank::stop) {
      end_all();
      return "; the others are ended";
    }
    if (job_.lost == LostRank::restarts && restarts_[lost] < most_restarts && !any_completed_) {
      ++restarts_[lost];
      set(commands_[lost].environment, "HEADROOM_RANKS_AGAIN", "1");
      if (siblings_.start_again(lost, commands_[lost], signals_)) return "; it is started again";
    }
    return "; the others go on without it";
  }

  void end_all() {
    siblings_.send_all(terminate_signal);
    kill_at_ = now_ms() + static_cast<std::uint64_t>(job_.grace.count());
  }

  // One that was started again while the others came to their end has nobody to come back to.
  void end_late_comers() {
    if (kill_at_) return;
    for (std::size_t i = 0; i < restarts_.size(); ++i) {
      if (restarts_[i] == 0) continue;
      siblings_.send(i, terminate_signal);
      only_late_comers_ = true;
      kill_at_ = now_ms() + static_cast<std::uint64_t>(job_.grace.count());
    }
  }

  void kill() {
    for (std::size_t i = 0; i < restarts_.size(); ++i) {
      if (!only_late_comers_ || restarts_[i] > 0) siblings_.send(i, kill_signal);
    }
  }

  const RankJob& job_;
  std::vector<machine::SiblingCommand> commands_;
  std::vector<std::uint32_t> restarts_;  // Of each, so far.
  machine::Siblings siblings_;
  machine::Signals& signals_;
  const std::function<void(const std::string&)>& say_;
  std::optional<std::uint64_t> kill_at_;
  bool asked_to_end_ = false;
  bool any_completed_ = false;
  bool only_late_comers_ = false;  // Are to be killed then.
  RanksEnd first_;
};

}  // namespace

const char* name_of(LostRank lost) {
  return lost_rank_names.at(static_cast<std::size_t>(lost));
}

std::optional<LostRank> parse_lost_rank(std::string_view name) {
  const auto found = std::find(lost_rank_names.begin(), lost_rank_names.end(), name);
  if (found == lost_rank_names.end()) return std::nullopt;
  return static_cast<LostRank>(found - lost_rank_names.begin());
}

Status inject_averager(const AveragerFiles& files, CommandEnvironment& environment) {
  HEADROOM_CHECK(put_on_python_path(files.python_site, "--ranks", environment.variables));
  set(environment.variables, "HEADROOM_AVERAGER_LIBRARY", files.library);
  return Done{};
}

std::vector<std::string> rank_environment(const RankJob& job, std::uint32_t rank, int port,
                                          std::uint64_t processors) {
  std::vector<std::string> environment = job.environment;
  const std::string own = std::to_string(rank), all = std::to_string(job.ranks);
  set(environment, "MASTER_ADDR", "127.0.0.1");
  set(environment, "MASTER_PORT", std::to_string(port));
  set(environment, "RANK", own);
  set(environment, "LOCAL_RANK", own);
  set(environment, "WORLD_SIZE", all);
  set(environment, "LOCAL_WORLD_SIZE", all);
  set(environment, "GROUP_RANK", "0");
  // Two jobs may run at once, and one may follow another that was killed.
  set(environment, "HEADROOM_RANKS_JOB", job_name(port));
  set(environment, "HEADROOM_RANKS_LOST", name_of(job.lost));
  if (!value_of(environment, "OMP_NUM_THREADS")) {
    set(environment, "OMP_NUM_THREADS",
        std::to_string(std::max<std::uint64_t>(1, processors / job.ranks)));
  }
  return environment;
}

void end_as(const RanksEnd& end) {
  machine::end_by(end.signal.value_or(terminate_signal));
}

Result<RanksEnd> run_ranks(const RankJob& job, const std::function<void(const std::string&)>& say) {
  HEADROOM_TRY(machine::Signals signals, machine::Signals::take());
  machine::end_with_parent();
  HEADROOM_TRY(const int port, machine::free_loopback_port());
  std::vector<machine::SiblingCommand> commands;
  for (std::uint32_t rank = 0; rank < job.ranks; ++rank) {
    commands.push_back({job.argv, rank_environment(job, rank, port, machine::usable_processors())});
  }
  HEADROOM_TRY(machine::Siblings siblings, machine::Siblings::start(commands, signals));
  const RanksEnd end = Ranks(job, std::move(commands), std::move(siblings), signals, say).wait();
  machine::remove_shared_memory("headroom-averager.", "." + job_name(port) + ".");
  return end;
}

}  // namespace headroom::run
