// SPDX-License-Identifier: Apache-2.0
// For tests: plays the driver of a Supervisor, one story a test. It keeps what was asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "supervisor/supervisor.h"

namespace headroom::supervisor::testing {

class Play {
 public:
  explicit Play(Policy policy, std::vector<std::string> argv = {"job"}, const Settings& given = {})
      : supervisor_(policy, *CommandTemplate::make(std::move(argv), given, flags()), "job") {
    tell(event::Begin{});
  }

  void tell(const Event& event) {
    for (Action& one : supervisor_.step(event, now)) {
      if (const auto* wake = std::get_if<action::WakeAt>(&one)) wake_ = wake->when;
      if (const auto* finish = std::get_if<action::Finish>(&one)) report = finish->report;
      if (const auto* say = std::get_if<action::Say>(&one)) said += say->text + "\n";
      did.push_back(std::move(one));
    }
  }
  void pass(Time time) {
    now += time;
    tell(event::Tick{});
  }
  // To the moment that it wants to be woken at.
  void wake() { pass(wake_ - now); }

  template <class What>
  std::vector<What> all() const {
    std::vector<What> found;
    for (const Action& one : did) {
      if (const auto* what = std::get_if<What>(&one)) found.push_back(*what);
    }
    return found;
  }
  std::size_t starts() const { return all<action::Start>().size(); }
  // "TERM" or "KILL" for each that was sent to all.
  std::vector<std::string> ends() const {
    std::vector<std::string> found;
    for (const auto& end : all<action::EndTree>()) found.emplace_back(end.kill ? "KILL" : "TERM");
    return found;
  }
  std::vector<int> sent() const {
    std::vector<int> found;
    for (const auto& send : all<action::SendSignal>()) found.push_back(send.number);
    return found;
  }

  void started() { tell(event::Started{}); }
  void ended(Exit exit) {
    tell(event::MainEnded{exit});
    tell(event::TreeGone{});
  }
  void diagnosed(bool out_of_memory = false, bool by_kernel = false) {
    tell(event::Diagnosed{std::nullopt, out_of_memory, by_kernel});
  }
  // A whole attempt.
  void attempt(Exit exit, bool out_of_memory = false) {
    started();
    now += Time{1000};
    ended(exit);
    diagnosed(out_of_memory);
  }

  Time now{0};
  std::vector<Action> did;
  std::optional<RunReport> report;
  std::string said;

 private:
  static const knowledge::TrainerFlags& flags() {
    static const knowledge::TrainerFlags table = *knowledge::load_trainer_flags();
    return table;
  }
  Supervisor supervisor_;
  Time wake_{0};
};

inline constexpr Exit success{0, std::nullopt};
inline constexpr Exit failure{3, std::nullopt};
inline constexpr Exit segfault{139, 11};
inline constexpr Exit killed{137, 9};

}  // namespace headroom::supervisor::testing
