// SPDX-License-Identifier: Apache-2.0
// One process for each rank of a command: started together, with the environment that torchrun sets
// and torch.distributed, accelerate and transformers read (MASTER_ADDR, MASTER_PORT, RANK,
// WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "run/command/environment.h"
#include "run/command/inject_allocator.h"
#include "supervisor/policy.h"

namespace headroom::run {

// As many as the averager takes (include/headroom/averager.h).
inline constexpr std::uint32_t most_ranks = 16;

enum class LostRank : std::uint8_t {
  stop,       // The first that fails ends the others.
  continues,  // The others go on; the averages are of those that are left.
  restarts,   // The same, and it is started again, a few times, to come back to them.
};

// As --lost-rank has it; nothing for other words.
const char* name_of(LostRank lost);
std::optional<LostRank> parse_lost_rank(std::string_view name);

// Puts headroom's averager into torch.distributed of all ranks: PYTHONPATH and
// HEADROOM_AVERAGER_LIBRARY. Fails as inject_allocator does.
struct AveragerFiles {
  std::string library;      // libheadroom_averager.so.1.
  std::string python_site;  // As in InjectedFiles.
};
Status inject_averager(const AveragerFiles& files, CommandEnvironment& environment);

struct RankJob {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=VALUE.
  std::uint32_t ranks = 1;
  LostRank lost = LostRank::stop;
  supervisor::Time grace{10000};  // From SIGTERM to SIGKILL, for those that a lost rank ends.
};

// The environment of one rank. `processors`: of the machine, which the ranks share.
std::vector<std::string> rank_environment(const RankJob& job, std::uint32_t rank, int port,
                                          std::uint64_t processors);

struct RanksEnd {
  // 0, or that of the first rank that failed: a shell's. If the others go on without lost ones, 0
  // as soon as one rank has completed.
  int code = 0;
  std::optional<int> signal;  // That ended it.
};

// Ends this process by the signal that ended the rank, so that who started it sees the same.
[[noreturn]] void end_as(const RanksEnd& end);

// Blocks until all ranks have ended. Signals that reach this process reach them, and so does
// SIGTERM when the process that started this one is gone. `say` gets a line about each rank that
// fails. Fails where a rank cannot be started.
Result<RanksEnd> run_ranks(const RankJob& job, const std::function<void(const std::string&)>& say);

}  // namespace headroom::run
