// SPDX-License-Identifier: Apache-2.0
#include "findings/next_command.h"

#include <utility>

namespace headroom::findings {

NextCommand::NextCommand(Does does, std::string text) : does_(does), text_(std::move(text)) {}

NextCommand NextCommand::check(std::string_view options) {
  const std::string_view blank = options.empty() ? "" : " ";
  return {Does::look, std::string("headroom check").append(blank).append(options)};
}

NextCommand NextCommand::plan() {
  return {Does::plan, "headroom plan --model Qwen/Qwen2.5-3B --method lora --gpu auto"};
}

NextCommand NextCommand::fix(std::string_view id) {
  return {Does::fix, std::string("headroom fix ").append(id)};
}

NextCommand NextCommand::stack() {
  return {Does::guide, "headroom fix stack"};
}

NextCommand NextCommand::allocator() {
  return {Does::run, "headroom run --allocator -- COMMAND"};
}

NextCommand NextCommand::reclaim() {
  return {Does::reclaim, "headroom reclaim"};
}

}  // namespace headroom::findings
