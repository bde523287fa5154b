// SPDX-License-Identifier: Apache-2.0
// Reclaim on a simulated kernel: five hundred machines, each with its own troubles, and a few told
// by hand. A run that fails names its seed; HEADROOM_SEED=N runs that one alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "reclaim/reclaim.h"
#include "simulation/simulated_kernel.h"

namespace headroom::testing {
namespace {

using plan::ReclaimEnd;
using plan::Rung;

struct Reclaimed {
  Result<plan::ReclaimPlan> plan = Error{};
  plan::ReclaimOutcome outcome;
  std::vector<std::string> crimes;
  int acts = 0;
  bool enough_in_truth = false;
};

// Between planning and acting a target ends, and an innocent gets its number.
void take_number(World& world, const plan::ReclaimPlan& plan) {
  if (plan.targets.empty()) return;
  for (SimulatedProcess& process : world.processes) {
    if (process.pid != plan.targets.front().held.pid || !process.alive) continue;
    process.alive = process.client = process.listed = false;
    SimulatedProcess innocent;
    innocent.pid = process.pid;
    innocent.start_ticks = process.start_ticks + 1;
    innocent.command = "innocent";
    innocent.holds = 64_MiB;
    world.processes.push_back(innocent);
    return;
  }
}

Reclaimed reclaim_in(World& world, const plan::ReclaimOptions& options) {
  const knowledge::GpuTables tables;
  const plan::Caller caller{.root = world.root, .uid = world.root ? 0U : 1000U, .words = {}};
  const facts::Facts facts = facts_of(world);
  const facts::Occupancy occupancy = occupancy_of(world);
  Reclaimed run;
  run.plan = plan::plan_reclaim({facts, occupancy, tables, options, caller}, simulated_gpu);
  if (!run.plan) return run;
  if (world.number_taken_early) take_number(world, *run.plan);
  SimulatedKernel kernel(world, *run.plan);
  run.outcome = reclaim::carry_out(*run.plan, kernel);
  run.acts = kernel.acts;
  run.crimes = kernel.crimes;
  const auto now = plan::measure(facts_of(world), occupancy_of(world), simulated_gpu);
  run.enough_in_truth = now && plan::is_enough(*run.plan, *now);
  return run;
}

plan::ReclaimOptions make_options(std::uint64_t seed, const World& world) {
  std::mt19937_64 random(seed * 7919 + 1);
  plan::ReclaimOptions options;
  options.up_to = plan::all_rungs[random() % plan::all_rungs.size()];
  if (random() % 2 == 0) options.free = Bytes{(random() % 64) * (256_MiB).value};
  options.all = random() % 4 == 0;
  options.include_desktop = random() % 4 == 0;
  for (const SimulatedProcess& process : world.processes) {
    if (process.holds.value == 0 || !process.alive) continue;
    if (random() % 2 == 0) options.pids.push_back(process.pid);
    if (!process.unit.empty() && random() % 4 == 0) options.units.push_back(process.unit);
  }
  if (world.container) options.pids.clear();
  if (world.container) options.units.clear();
  return options;
}

bool innocent_died(const World& before, const World& after, const plan::ReclaimPlan& plan) {
  for (const SimulatedProcess& process : before.processes) {
    const auto is_it = [&](const auto& one) {
      return one.held.pid == process.pid && one.held.start_ticks == process.start_ticks;
    };
    if (!process.alive || !std::any_of(plan.spared.begin(), plan.spared.end(), is_it)) continue;
    for (const SimulatedProcess& now : after.processes) {
      const bool same = now.pid == process.pid && now.start_ticks == process.start_ticks;
      if (same && !now.alive) return true;
    }
  }
  return false;
}

void check_timeline(const Reclaimed& run) {
  Rung last = Rung::name;
  for (const plan::RungDone& done : run.outcome.timeline) {
    EXPECT_GE(done.rung, last);
    EXPECT_LE(done.rung, run.plan->options.up_to);
    EXPECT_LE(done.started_ms, done.ended_ms);
    last = done.rung;
  }
}

void simulate(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  World world = make_world(seed);
  const World before = world;
  const Reclaimed run = reclaim_in(world, make_options(seed, world));
  ASSERT_TRUE(run.plan) << run.plan.error().message;
  EXPECT_TRUE(run.crimes.empty()) << join(run.crimes, "\n");
  EXPECT_FALSE(innocent_died(before, world, *run.plan));
  if (before.container) {
    EXPECT_EQ(run.outcome.end, ReclaimEnd::for_host);
    EXPECT_EQ(run.acts, 0);
    EXPECT_TRUE(run.plan->targets.empty());
    EXPECT_FALSE(run.plan->host_steps.empty());
    return;
  }
  EXPECT_TRUE(run.plan->host_steps.empty());
  check_timeline(run);
  const bool says_enough =
      run.outcome.end == ReclaimEnd::enough || run.outcome.end == ReclaimEnd::nothing_to_do;
  EXPECT_TRUE(!says_enough || run.enough_in_truth);
}

TEST(ReclaimSimulation, five_hundred_machines_and_no_innocent_process_dies) {
  if (const char* chosen = std::getenv("HEADROOM_SEED")) {
    simulate(std::strtoull(chosen, nullptr, 10));
    return;
  }
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    simulate(seed);
    if (HasFailure()) FAIL() << "the first seed that fails is " << seed;
  }
}

World one_holder(Reaction reaction) {
  World world;
  SimulatedProcess process;
  process.pid = 4711;
  process.start_ticks = 99;
  process.holds = 8_GiB;
  process.reaction = reaction;
  world.processes.push_back(process);
  return world;
}

plan::ReclaimOptions of_pid(std::uint64_t pid, Rung up_to) {
  plan::ReclaimOptions options;
  options.pids = {pid};
  options.up_to = up_to;
  return options;
}

Rung last_taken(const plan::ReclaimOutcome& outcome) {
  Rung last = Rung::name;
  for (const plan::RungDone& done : outcome.timeline) {
    if (done.skipped.empty()) last = done.rung;
  }
  return last;
}

TEST(ReclaimSimulation, one_that_obeys_is_asked_and_never_killed) {
  World world = one_holder(Reaction::obeys);
  const Reclaimed run = reclaim_in(world, of_pid(4711, Rung::reboot));
  EXPECT_EQ(run.outcome.end, ReclaimEnd::enough);
  EXPECT_EQ(last_taken(run.outcome), Rung::ask);
  EXPECT_EQ(run.acts, 1);
  EXPECT_EQ(run.outcome.timeline.back().freed, 8_GiB);
}

TEST(ReclaimSimulation, one_that_ignores_is_left_alive_by_default_and_killed_on_insist) {
  World world = one_holder(Reaction::ignores);
  Reclaimed run = reclaim_in(world, of_pid(4711, Rung::ask));
  EXPECT_EQ(run.outcome.end, ReclaimEnd::not_enough);
  EXPECT_TRUE(world.processes[0].alive);
  run = reclaim_in(world, of_pid(4711, Rung::insist));
  EXPECT_EQ(run.outcome.end, ReclaimEnd::enough);
  EXPECT_FALSE(world.processes[0].alive);
}

TEST(ReclaimSimulation, one_that_nobody_chose_is_left_alone) {
  World world = one_holder(Reaction::obeys);
  plan::ReclaimOptions options;
  options.up_to = Rung::reboot;
  options.free = 15_GiB;
  const Reclaimed run = reclaim_in(world, options);
  EXPECT_EQ(run.outcome.end, ReclaimEnd::not_enough);
  EXPECT_TRUE(world.processes[0].alive);
}

TEST(ReclaimSimulation, memory_that_comes_back_late_is_waited_for) {
  World world = one_holder(Reaction::obeys);
  world.processes[0].freed_after_ms = 20'000;
  const Reclaimed run = reclaim_in(world, of_pid(4711, Rung::reboot));
  EXPECT_EQ(run.outcome.end, ReclaimEnd::enough);
  EXPECT_EQ(last_taken(run.outcome), Rung::wait_kfd);
}

TEST(ReclaimSimulation, the_dead_need_no_naming_and_take_the_driver_off_the_gpu) {
  World world = one_holder(Reaction::obeys);
  world.processes[0].alive = world.processes[0].client = false;
  plan::ReclaimOptions options;
  options.up_to = Rung::reboot;
  const Reclaimed run = reclaim_in(world, options);
  EXPECT_EQ(run.outcome.end, ReclaimEnd::enough);
  EXPECT_EQ(last_taken(run.outcome), Rung::unbind_bind);
}

TEST(ReclaimSimulation, on_an_apu_the_driver_is_never_touched) {
  World world = one_holder(Reaction::obeys);
  world.integrated = true;
  world.processes[0].alive = world.processes[0].client = false;
  plan::ReclaimOptions options;
  options.up_to = Rung::reboot;
  const Reclaimed run = reclaim_in(world, options);
  EXPECT_EQ(run.outcome.end, ReclaimEnd::not_enough);
  EXPECT_LE(last_taken(run.outcome), Rung::empty_pool);
  EXPECT_TRUE(run.crimes.empty());
}

TEST(ReclaimSimulation, a_job_that_its_service_starts_again_ends_with_the_service) {
  World world = one_holder(Reaction::obeys);
  world.processes[0].unit = "job.service";
  world.processes[0].restarted = true;
  plan::ReclaimOptions options;
  options.units = {"job"};
  options.up_to = Rung::reboot;
  const Reclaimed run = reclaim_in(world, options);
  EXPECT_EQ(run.outcome.end, ReclaimEnd::enough);
  EXPECT_EQ(last_taken(run.outcome), Rung::stop_service);
}

TEST(ReclaimSimulation, a_number_that_is_another_processs_by_now_is_not_signalled) {
  World world = one_holder(Reaction::obeys);
  world.number_taken_early = true;
  const Reclaimed run = reclaim_in(world, of_pid(4711, Rung::insist));
  EXPECT_EQ(run.acts, 0);
  EXPECT_TRUE(world.processes.back().alive);
}

TEST(ReclaimSimulation, no_more_are_asked_than_it_takes) {
  World world = one_holder(Reaction::obeys);
  SimulatedProcess second = world.processes[0];
  second.pid = 4712;
  second.holds = 4_GiB;
  world.processes.push_back(second);
  plan::ReclaimOptions options;
  options.all = true;
  options.free = 8_GiB;
  const Reclaimed run = reclaim_in(world, options);
  EXPECT_EQ(run.outcome.end, ReclaimEnd::enough);
  EXPECT_EQ(run.acts, 1);
  EXPECT_FALSE(world.processes[0].alive);
  EXPECT_TRUE(world.processes[1].alive);
}

TEST(ReclaimSimulation, a_rung_that_hangs_ends_it_all) {
  World world = one_holder(Reaction::obeys);
  world.processes[0].alive = world.processes[0].client = false;
  world.write = Answer::hangs;
  plan::ReclaimOptions options;
  options.up_to = Rung::reboot;
  const Reclaimed run = reclaim_in(world, options);
  EXPECT_EQ(run.outcome.end, ReclaimEnd::broken_off);
  EXPECT_EQ(last_taken(run.outcome), Rung::empty_pool);
}

TEST(ReclaimSimulation, from_a_container_nothing_is_done) {
  World world = one_holder(Reaction::obeys);
  world.container = true;
  plan::ReclaimOptions options;
  options.up_to = Rung::reboot;
  options.all = true;
  const Reclaimed run = reclaim_in(world, options);
  EXPECT_EQ(run.outcome.end, ReclaimEnd::for_host);
  EXPECT_EQ(run.acts, 0);
  ASSERT_FALSE(run.plan->host_steps.empty());
  EXPECT_TRUE(run.plan->rungs.empty());
}

}  // namespace
}  // namespace headroom::testing
