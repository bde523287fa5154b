// SPDX-License-Identifier: Apache-2.0
// What signals to headroom do: those that ask for an end end the command and the run, the others
// are passed on.
#include "supervisor/supervisor.h"
#include "supervisor/wording.h"

namespace headroom::supervisor {
namespace {

bool asks_for_end(int number) {
  return number == signals::interrupt || number == signals::terminate ||
         number == signals::hangup || number == signals::quit;
}

// A service manager may send SIGHUP right behind SIGTERM, so that it is not impatience.
bool insists(int number) {
  return asks_for_end(number) && number != signals::hangup;
}

}  // namespace

void Supervisor::on(const event::Signal& event) {
  if (asks_for_end(event.number)) return stop(event);
  if (main_lives() && !event.reached_command) {
    actions_.emplace_back(action::SendSignal{event.number});
  }
}

void Supervisor::stop(const event::Signal& signal) {
  const bool first = !stop_signal_;
  if (first) stop_signal_ = signal.number;
  switch (phase_) {
    case Phase::not_begun:
    case Phase::starting:
    case Phase::over:
      return;
    case Phase::waiting:
      return finish(Outcome::stopped, {128 + signal.number, signal.number});
    case Phase::diagnosing:
      // Nothing lives any more; who insists does not want to wait for the reason either.
      if (!first && insists(signal.number)) on(event::Diagnosed{});
      return;
    case Phase::clearing:
      return !first && insists(signal.number) ? kill() : terminate();
    case Phase::alive:
      break;
  }
  if (!first && insists(signal.number)) return kill();
  stop_alive(signal);
}

void Supervisor::stop_alive(const event::Signal& signal) {
  if (!signal.reached_command) actions_.emplace_back(action::SendSignal{signal.number});
  // Headroom is ending it already, or it was asked before.
  if (current_.pressure != Pressure::none) return;
  current_.reason = Reason::user;
  current_.pressure = Pressure::asked;
  say(signal_name(signal.number) + ": waiting up to " + describe_time(policy_.grace) +
      " for the command to end; a second one ends it at once");
  wake_after(policy_.grace);
}

}  // namespace headroom::supervisor
