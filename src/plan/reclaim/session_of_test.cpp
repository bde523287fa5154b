// SPDX-License-Identifier: Apache-2.0
#include "plan/reclaim/session_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/reclaim/rungs.h"

namespace headroom::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// An X server and others beside it, on two cards of one driver.
struct Desk {
  facts::Facts facts;
  facts::Occupancy occupancy;
  knowledge::GpuTables tables;
  ReclaimOptions options;
  Caller caller;
  ReclaimPlan plan;

  Desk() {
    for (const char* pci : {"0000:03:00.0", "0000:06:00.0"}) {
      facts::Gpu gpu;
      gpu.pci = pci;
      gpu.integrated = facts::Fact<bool>(false, {});
      facts.gpus.push_back(gpu);
    }
    add(1893, "Xorg", 1000, "").gpus = {"0000:03:00.0"};
    plan.pci = "0000:06:00.0";
  }

  facts::Occupant& add(std::uint64_t pid, const std::string& command, std::uint64_t uid,
                       const std::string& unit) {
    facts::Occupant occupant;
    occupant.pid = pid;
    occupant.command = command;
    occupant.uid = uid;
    occupant.membership.unit = unit;
    occupancy.occupants.push_back(occupant);
    Client client;
    client.pid = pid;
    client.command = command;
    plan.now.elsewhere.push_back(client);
    return occupancy.occupants.back();
  }

  ReclaimSubject subject() const { return {facts, occupancy, tables, options, caller}; }

  std::string dying_with(std::uint64_t pid, const std::string& command) {
    Target target;
    target.held.pid = pid;
    target.held.command = command;
    plan.targets = {target};
    return find_dying_too(subject(), plan, {pid});
  }

  RungPlan rung(Rung wanted) {
    describe_harsh_rungs(subject(), facts.gpus[1], plan);
    for (const RungPlan& one : plan.rungs) {
      if (one.rung == wanted) return one;
    }
    return {};
  }
};

TEST(SessionOf, with_a_desktop_ends_its_session_and_who_may_be_in_it) {
  Desk desk;
  desk.add(4127, "llama-server", 1000, "");
  desk.add(4128, "ollama", 1000, "ollama.service");
  desk.add(4129, "python3", 1001, "");
  desk.add(4130, "jupyter", 1000, "").membership.container = "0123456789ab";
  const std::string too = desk.dying_with(1893, "Xorg");
  EXPECT_THAT(too, HasSubstr("the whole session"));
  EXPECT_THAT(too, HasSubstr("llama-server (PID 4127)"));
  for (const char* outside : {"Xorg", "ollama", "python3", "jupyter"})
    EXPECT_THAT(too, Not(HasSubstr(outside)));
}

TEST(SessionOf, an_x_server_of_root_serves_other_users) {
  Desk desk;
  desk.occupancy.occupants[0].uid = 0;
  desk.add(4127, "llama-server", 1000, "");
  EXPECT_THAT(desk.dying_with(1893, "Xorg"), HasSubstr("llama-server (PID 4127)"));
}

TEST(SessionOf, nobody_ends_with_what_is_no_desktop) {
  Desk desk;
  desk.add(4127, "llama-server", 1000, "");
  EXPECT_EQ(desk.dying_with(4127, "llama-server"), "");
}

TEST(HarshRungs, a_reload_of_the_driver_concerns_the_desktop_of_another_card) {
  const RungPlan reload = Desk().rung(Rung::module_reload);
  EXPECT_THAT(reload.cannot, HasSubstr("Xorg (PID 1893) has it open (0000:03:00.0)"));
  EXPECT_THAT(reload.dies, HasSubstr("Xorg (PID 1893)"));
  EXPECT_THAT(reload.desktop, HasSubstr("would go down"));
}

TEST(HarshRungs, taking_the_driver_off_one_card_does_not) {
  const RungPlan unbind = Desk().rung(Rung::unbind_bind);
  EXPECT_EQ(unbind.cannot, "");
  EXPECT_EQ(unbind.desktop, "No desktop or console runs on this GPU.");
}

}  // namespace
}  // namespace headroom::plan
