// SPDX-License-Identifier: Apache-2.0
// The options of a supervised command as they are typed, and what they mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "run/command/guard.h"
#include "run/command/ranks.h"
#include "supervisor/policy.h"
#include "supervisor/settings.h"

namespace headroom::cli {

struct CommandOptions {
  std::string report;
  std::string name;
  std::string memory;
  std::string devices;
  std::string restarts = "0";
  std::string back_off = "1";
  std::string hang = "off";
  std::string grace = "10";
  std::string settings;
  std::string split;
  std::string guard;
  std::string ranks;
  std::string lost_rank = "stop";
  std::string root = "/";
  bool keep_env = false;
  bool allocator = false;

  void add_to(CLI::App& command);
  // The names of those that can only be meant for a supervised command.
  static std::vector<std::string> names();
};

// Fails with what is wrong in an option, named in front.
Result<supervisor::Policy> parse_policy(const CommandOptions& options);
Result<supervisor::Settings> parse_given(const CommandOptions& options);
// Nothing if it was not typed.
Result<std::optional<bool>> parse_split(const CommandOptions& options);
Result<run::GuardChoice> parse_guard(const CommandOptions& options);

struct RankChoice {
  std::uint32_t ranks = 1;  // 0: as many as there are GPUs for jobs.
  run::LostRank lost = run::LostRank::stop;
};
Result<RankChoice> parse_ranks(const CommandOptions& options);

}  // namespace headroom::cli
