// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/process_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/require.h"
#include "machine/tree/containment.h"
#include "machine/tree/keeper.h"
#include "machine/tree/launch.h"
#include "machine/tree/process_scan.h"
#include "machine/tree/tree_killer.h"

namespace headroom::machine {
namespace {

class Tree : public ProcessTree {
 public:
  Tree(Keeper keeper, Containment containment, std::optional<Bytes> limit)
      : containment_(std::move(containment)), limit_(limit), keeper_(std::move(keeper)) {}
  ~Tree() override {
    if (!list().empty()) (void)!send_all(SIGKILL);
  }

  std::uint64_t pid() const override { return static_cast<std::uint64_t>(keeper_.command()); }
  int descriptor() const override { return keeper_.descriptor(); }
  std::optional<TreeExit> main_exit() override { return keeper_.command_exit(); }
  std::vector<TreeMember> members() override;
  TreeUse use() override;
  Status send(int signal) override { return keeper_.send(signal); }
  Status send_all(int signal) override;
  LimitKind limit_kind() const override;
  std::string limit_remark() const override { return containment_.remark; }

 private:
  // Those that live: of the group, and what left it, as a session of systemd does.
  std::vector<ProcessStat> list() const;
  // Without those that left the group: quick, for every look.
  std::vector<ProcessStat> list_for_use() const;
  Bytes add_up(const std::vector<ProcessStat>& processes, Bytes rss) const;

  Containment containment_;
  std::optional<Bytes> limit_;
  Keeper keeper_;  // Ends before its group is removed.
  std::uint64_t processor_ms_ = 0;
};

std::vector<ProcessStat> read_group(const ControlGroup& group) {
  std::vector<ProcessStat> found;
  for (const pid_t pid : group.processes()) {
    if (auto process = read_process(pid)) found.push_back(std::move(*process));
  }
  return found;
}

std::vector<ProcessStat> Tree::list() const {
  std::vector<ProcessStat> found = read_descendants(keeper_.pid());
  if (containment_.group) {
    for (ProcessStat& process : read_group(*containment_.group)) {
      const auto known = std::find_if(found.begin(), found.end(), [&](const ProcessStat& other) {
        return other.pid == process.pid;
      });
      if (known == found.end()) found.push_back(std::move(process));
    }
  }
  std::erase_if(found, [](const ProcessStat& process) { return process.has_ended(); });
  return found;
}

std::vector<ProcessStat> Tree::list_for_use() const {
  if (containment_.group) return read_group(*containment_.group);
  return read_descendants(keeper_.pid());
}

std::vector<TreeMember> Tree::members() {
  std::vector<TreeMember> found;
  for (const ProcessStat& process : list())
    found.push_back({static_cast<std::uint64_t>(process.pid), read_command(process)});
  return found;
}

// Pages that several processes share count once for each in `rss`, as the data set that the workers
// of a data loader have in common. What cannot exceed the limit need not be known better.
Bytes Tree::add_up(const std::vector<ProcessStat>& processes, Bytes rss) const {
  if (!limit_ || rss.value < limit_->value / 4 * 3) return rss;
  Bytes sum;
  for (const ProcessStat& process : processes)
    sum += read_proportional(process.pid).value_or(process.rss);
  return std::min(sum, rss);
}

TreeUse Tree::use() {
  const std::vector<ProcessStat> processes = list_for_use();
  TreeUse use;
  Bytes rss;
  std::uint64_t ticks = 0;
  for (const ProcessStat& process : processes) {
    rss += process.rss;
    ticks += process.own_ticks + process.waited_ticks;
    if (!process.has_ended()) ++use.processes;
  }
  // What has ended and was reaped by the keeper counts among those that it has waited for.
  if (const auto keeper = read_process(keeper_.pid())) ticks += keeper->waited_ticks;
  processor_ms_ = std::max(processor_ms_, ticks_to_ms(ticks));
  use.processor_ms = processor_ms_;
  use.rss = rss;
  GroupUse counted;
  if (containment_.group) counted = containment_.group->use();
  use.memory = counted.memory ? *counted.memory : add_up(processes, rss);
  use.group_peak = counted.peak;
  use.kernel_kills = counted.kernel_kills;
  return use;
}

Status Tree::send_all(int signal) {
  if (signal == SIGKILL) return kill_all(containment_.group.get(), [this] { return list(); });
  const std::vector<ProcessStat> processes = list();
  HEADROOM_CHECK(signal_all(processes, signal));
  // One that is stopped would not act on it.
  if (signal == SIGTERM || signal == SIGHUP || signal == SIGINT)
    return signal_all(processes, SIGCONT);
  return Done{};
}

LimitKind Tree::limit_kind() const {
  const LimitKind kind = containment_.group ? containment_.group->kind() : LimitKind::none;
  return kind == LimitKind::none && limit_ ? LimitKind::added_up : kind;
}

sigset_t mask_of_command(const Signals* signals) {
  if (signals != nullptr) return signals->before();
  sigset_t mask{};
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (const int signal : Signals::watched()) sigdelset(&mask, signal);
  return mask;
}

}  // namespace

Result<std::unique_ptr<ProcessTree>> start_tree(const TreeOptions& options, Means means) {
  require(!options.argv.empty(), "a command has at least its program's name");
  Launch launch(options.argv, options.environment);
  launch.folder = options.folder;
  launch.streams = {options.input, options.output, options.errors};
  launch.held_back = mask_of_command(options.signals);
  HEADROOM_TRY(Keeper keeper, Keeper::start(launch));
  Containment containment = contain(keeper.command(), options.memory, means);
  HEADROOM_CHECK(keeper.release());
  return std::make_unique<Tree>(std::move(keeper), std::move(containment), options.memory);
}

Result<std::unique_ptr<ProcessTree>> ProcessTree::start(const TreeOptions& options) {
  return start_tree(options, Means::strongest);
}

}  // namespace headroom::machine
