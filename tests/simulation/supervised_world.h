// SPDX-License-Identifier: Apache-2.0
// A machine on which the supervisor runs a command, without any of it being real: programs that
// crash, hang, leak, run out of memory, ignore signals and leave daemons, a user who is impatient,
// a driver that is slow and tells things out of order. All by one seed. Weeks take a millisecond.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "supervisor/supervisor.h"

namespace headroom::testing {

using supervisor::Time;

// What one attempt does, were it left alone.
struct Behaviour {
  bool starts = true;
  std::optional<Time> ends_after;  // Nothing: it never ends by itself.
  supervisor::Exit exit;
  bool quiet = false;      // No output and no work.
  double bytes_per_s = 0;  // It leaks.
  std::uint64_t fits = 0;  // It runs out of memory with a larger micro. 0: it never does.
  bool ignores_signals = false;
  Time reacts_after{0};           // To a signal that asks for an end.
  std::optional<int> exits_with;  // When it is asked to end; nothing: the signal ends it.
};

struct SimulatedMember {
  std::uint64_t pid = 0;
  bool main = false;
  bool alive = true;
  bool ignores_signals = false;
  bool unkillable = false;
  Time reacts_after{0};
  std::optional<int> exits_with;
};

class SupervisedWorld {
 public:
  explicit SupervisedWorld(std::uint64_t seed);

  // Until the supervisor is done. What it did that it must not is in crimes().
  void run();
  const std::vector<std::string>& crimes() const { return crimes_; }
  const std::optional<supervisor::RunReport>& report() const { return report_; }
  std::size_t steps() const { return steps_; }
  Time passed() const { return now_; }

 private:
  struct Happening {
    Time when{0};
    std::uint64_t number = 0;  // In the order that they were planned, at the same time.
    std::function<void()> what;

    bool operator>(const Happening& other) const {
      return std::pair(when, number) > std::pair(other.when, other.number);
    }
  };

  // supervised_world.cpp: programs, users and the driver.
  std::uint64_t below(std::uint64_t limit);
  bool once_in(std::uint64_t times) { return below(times) == 0; }
  Time up_to(Time most);
  Time some_lifetime();
  Behaviour make_behaviour();
  void make_members();
  void plan_user();
  void at(Time when, std::function<void()> what);
  void after(Time delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
  void tell(const supervisor::Event& event);
  void sample(std::size_t attempt);
  void send_user_signal(int number);
  void signal_member(std::uint64_t pid, int number);
  void end_member(std::uint64_t pid, supervisor::Exit exit);
  void tell_gone_when_gone();
  SimulatedMember* find(std::uint64_t pid);
  bool any_alive() const;
  std::vector<supervisor::LeftBehind> left_behind() const;

  // supervised_actions.cpp: what the supervisor asks for, and whether it may.
  void act(const supervisor::action::Start& start);
  void act(const supervisor::action::SendSignal& send);
  void act(const supervisor::action::EndTree& end);
  void act(const supervisor::action::AbandonTree& abandon);
  void act(const supervisor::action::Diagnose& diagnose);
  void act(const supervisor::action::Say& say);
  void act(const supervisor::action::WakeAt& wake);
  void act(const supervisor::action::Finish& finish);
  void check_start(const supervisor::action::Start& start);
  void check_kill();
  void check_exit(const supervisor::RunReport& report);
  void crime(std::string what);

  std::mt19937_64 random_;
  supervisor::Policy policy_;
  std::optional<supervisor::Supervisor> supervisor_;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
  std::uint64_t planned_ = 0, steps_ = 0, ticks_ = 0;
  Time now_{0};
  std::vector<std::string> crimes_;
  std::optional<supervisor::RunReport> report_;

  // The attempt that runs, or ran last.
  std::size_t attempt_ = 0;
  Behaviour behaviour_;
  std::uint64_t micro_ = 0, accumulate_ = 0;
  std::vector<SimulatedMember> members_;
  std::uint64_t next_pid_ = 100;
  std::optional<supervisor::Exit> real_exit_;
  bool gone_told_ = false, abandoned_ = false, out_of_memory_ = false, by_kernel_ = false;
  bool enforced_ = false;
  Time sampled_every_{0}, started_{0}, main_ended_{0};
  std::uint64_t output_ = 0, processor_ = 0;

  // What the supervisor owes.
  std::optional<Time> terminated_, first_stop_, diagnosed_;
  std::size_t insisted_ = 0, restarts_ = 0, warnings_ = 0;
  bool over_limit_ = false, diagnosing_ = false;
  Time expected_wait_{0}, last_ran_{0}, slow_diagnosis_{0};
  bool last_out_of_memory_ = false;
};

}  // namespace headroom::testing
