// SPDX-License-Identifier: Apache-2.0
#include "plan/record.h"

namespace headroom::plan {

std::string_view to_string(State state) {
  switch (state) {
    case State::applying:
      return "applying";
    case State::applied:
      return "applied";
    case State::awaiting_reboot:
      return "awaiting-reboot";
    case State::confirming:
      return "confirming";
    case State::confirmed:
      return "confirmed";
    case State::mismatched:
      return "mismatched";
    case State::undoing:
      return "undoing";
    case State::undone:
      return "undone";
  }
  return "";
}

std::string undo_command(const Record& record) {
  return (record.of_system ? "sudo headroom undo " : "headroom undo ") + record.id;
}

std::string confirm_command(const Record& record) {
  return record.of_system ? "sudo headroom confirm" : "headroom confirm";
}

bool is_in_force(State state) {
  return state != State::undone;
}

bool can_be_confirmed(State state) {
  return state == State::awaiting_reboot || state == State::confirming ||
         state == State::mismatched;
}

bool awaits_reboot(const Record& record) {
  return record.change.needs_reboot &&
         (record.state == State::awaiting_reboot || record.state == State::mismatched);
}

bool is_interrupted(State state) {
  return state == State::applying || state == State::confirming || state == State::undoing;
}

}  // namespace headroom::plan
