// SPDX-License-Identifier: Apache-2.0
#include "plan/record.h"

#include <tuple>

#include "base/text.h"

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

bool never_in_force(const Record& record) {
  return record.state == State::undone && record.undone_from == State::applying;
}

std::uint64_t number_in_id(std::string_view id) {
  const std::size_t end = id.find_first_of("-.");
  if (end == std::string_view::npos || id[end] != '.') return 1;
  id.remove_prefix(end + 1);
  return parse_u64(id.substr(0, id.find('-'))).value_or(1);
}

bool is_earlier_id(std::string_view id, std::string_view other) {
  const auto key = [](std::string_view one) {
    return std::tuple(one.substr(0, one.find_first_of("-.")), number_in_id(one), one);
  };
  return key(id) < key(other);
}

bool is_interrupted(State state) {
  return state == State::applying || state == State::confirming || state == State::undoing;
}

}  // namespace headroom::plan
