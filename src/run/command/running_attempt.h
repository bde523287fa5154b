// SPDX-License-Identifier: Apache-2.0
// One attempt while it runs and while it ends: its tree of processes, the relays of its streams,
// and what is measured of it. It ends in steps, none of which blocks: the command's own process and
// the rest of its tree; then, once it is told to wind up, what is still on its way through the
// relays and what the GPU's driver has to give back.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "machine/tree/kernel_messages.h"
#include "machine/tree/process_tree.h"
#include "machine/tree/relay.h"
#include "run/command/gpu_watch.h"
#include "run/command/log_watch.h"
#include "run/command/pace.h"
#include "run/command/supervise.h"
#include "supervisor/supervisor.h"

namespace headroom::run {

// What all attempts of a run share. All of it outlives them.
struct AttemptHost {
  const SupervisedCommand& command;
  const SupervisedMachine& machine;
  const machine::Signals& signals;
  machine::KernelMessages* kernel = nullptr;  // nullptr: they cannot be read here.
};

class RunningAttempt {
 public:
  using Time = supervisor::Time;

  // Fails as ProcessTree::start and Relay::start do.
  static Result<std::unique_ptr<RunningAttempt>> start(const std::vector<std::string>& argv,
                                                       const AttemptHost& host, Time now);
  RunningAttempt(const RunningAttempt&) = delete;
  RunningAttempt& operator=(const RunningAttempt&) = delete;
  ~RunningAttempt() = default;

  // What to wait for, and until when at the latest; nothing where time alone changes nothing.
  std::vector<int> descriptors() const;
  std::optional<Time> wake_at() const;
  // What has happened by now: a sample when it is time for one, MainEnded, TreeGone.
  std::vector<supervisor::Event> look(Time now);

  void send(int signal);
  void end_tree(bool kill, Time now);
  // Those that live cannot be ended: the tree counts as gone.
  void abandon_tree(Time now);
  void copy_window_size();
  // Waits, by looks, for the relays and the driver. Requires: look() gave TreeGone.
  void wind_up(Time now);
  bool is_over() const { return stage_ == Stage::over; }

  machine::LimitKind limit_kind() const { return tree_->limit_kind(); }
  std::string limit_remark() const { return tree_->limit_remark(); }
  const GpuWatch& gpu() const { return gpu_; }
  bool has_group_peak() const { return peak_.cgroup.has_value(); }
  bool is_in_line() const;

  // These require that it is over.
  const LogWatch& log() const { return log_; }
  std::uint64_t kernel_kills() const { return kernel_kills_; }
  std::optional<Bytes> over_limit() const { return over_limit_; }
  // What of it is worth a word, at any time.
  std::vector<std::string> warnings() const;
  // What the GPU's driver still lists, as processes that could not be ended.
  std::vector<supervisor::LeftBehind> driver_remains() const;

 private:
  enum class Stage : std::uint8_t { running, ending, gone, draining, releasing, over };

  RunningAttempt(const AttemptHost& host, bool is_one);
  Status open_relays();
  Status start_tree(const std::vector<std::string>& argv);
  supervisor::event::Sample take_sample(Time now);
  void measure_system(const machine::TreeUse& use, const GpuUse& gpu,
                      supervisor::event::Sample& sample) const;
  std::optional<Bytes> left_until_limit(const supervisor::event::Sample& sample) const;
  void read_kernel();
  void leave_unread();
  void look_for_end(Time now, std::vector<supervisor::Event>& events);
  void watch_tree(Time now, std::vector<supervisor::Event>& events);
  void drain(Time now);
  void release(Time now);
  void enter(Stage stage, Time now);
  std::vector<supervisor::LeftBehind> left_behind() const;
  bool are_relays_done() const;

  const AttemptHost& host_;
  LogWatch log_;
  GpuWatch gpu_;
  Pace pace_;
  std::vector<std::unique_ptr<machine::Relay>> relays_;
  std::unique_ptr<machine::ProcessTree> tree_;
  Stage stage_ = Stage::running;
  Time since_{0};  // In this stage.
  Time next_sample_{0};
  Time next_look_{0};  // While it ends.
  Time step_{20};
  bool is_abandoned_ = false;
  bool is_unread_ = false;
  std::set<std::uint64_t> pids_;               // All that were seen.
  std::vector<machine::TreeMember> outlived_;  // Of them, those that had to be ended.
  std::vector<machine::TreeMember> unended_;
  supervisor::Peak peak_;
  std::uint64_t kernel_kills_ = 0;
  std::optional<Bytes> over_limit_;
  std::vector<KfdRemains> remains_;
};

}  // namespace headroom::run
