// SPDX-License-Identifier: Apache-2.0
// The supervisor in ten thousand simulated runs of up to three weeks. A run that fails names its
// seed; HEADROOM_SEED=N runs that one alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/text.h"
#include "simulation/supervised_world.h"

namespace headroom::testing {
namespace {

constexpr std::uint64_t runs = 10'000;

struct Seen {
  std::map<std::string, int> outcomes, causes, enders;
  int several_attempts = 0, stuck = 0;
};

void take_in(const supervisor::RunReport& report, Seen& seen) {
  ++seen.outcomes[std::string(to_string(report.outcome))];
  if (report.attempts.size() > 1) ++seen.several_attempts;
  for (const auto& attempt : report.attempts) {
    ++seen.enders[std::string(to_string(attempt.ended_by))];
    if (attempt.cause) ++seen.causes[attempt.cause->id];
  }
  for (const auto& left : report.left_behind) seen.stuck += left.ended ? 0 : 1;
}

std::string run_seed(std::uint64_t seed, Seen& seen) {
  SupervisedWorld world(seed);
  world.run();
  if (world.report()) take_in(*world.report(), seen);
  return join(world.crimes(), "\n");
}

TEST(SupervisorSimulation, every_run_ends_as_it_must) {
  Seen seen;
  if (const char* chosen = std::getenv("HEADROOM_SEED")) {
    EXPECT_EQ(run_seed(std::stoull(chosen), seen), "");
    return;
  }
  int failures = 0;
  for (std::uint64_t seed = 0; seed < runs && failures < 5; ++seed) {
    const std::string crimes = run_seed(seed, seen);
    failures += crimes.empty() ? 0 : 1;
    EXPECT_EQ(crimes, "") << "HEADROOM_SEED=" << seed;
  }
  // A simulation that never gets into trouble shows nothing.
  for (const char* outcome : {"completed", "failed", "gave-up", "stopped"}) {
    EXPECT_GT(seen.outcomes[outcome], 200) << outcome;
  }
  for (const char* ender : {"itself", "headroom", "kernel", "user"}) {
    EXPECT_GT(seen.enders[ender], 200) << ender;
  }
  for (const char* cause : {"hang", "cgroup-memory-limit", "crash-loop"}) {
    EXPECT_GT(seen.causes[cause], 20) << cause;
  }
  EXPECT_GT(seen.several_attempts, 1000);
  EXPECT_GT(seen.stuck, 50);
}

TEST(SupervisorSimulation, one_seed_is_one_run) {
  SupervisedWorld once(42);
  SupervisedWorld again(42);
  once.run();
  again.run();
  EXPECT_EQ(once.steps(), again.steps());
  EXPECT_EQ(once.passed(), again.passed());
}

}  // namespace
}  // namespace headroom::testing
