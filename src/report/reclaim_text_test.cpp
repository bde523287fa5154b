// SPDX-License-Identifier: Apache-2.0
#include "report/reclaim_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

plan::ReclaimPlan for_host(const std::string& pci, const std::string& pid) {
  plan::ReclaimPlan plan;
  plan.pci = pci;
  plan.title = "AMD Radeon RX 7900 XT (gfx1100)";
  plan.for_host = true;
  plan.host_steps = {{"See which processes they are.", {"ps -p " + pid}},
                     {"If nothing helps, reboot the host.", {"sudo systemctl reboot"}}};
  return plan;
}

TEST(ReclaimText, the_hosts_steps_are_explained_once_for_several_gpus) {
  const plan::ReclaimPlan first = for_host("0000:03:00.0", "4127");
  const plan::ReclaimPlan second = for_host("0000:06:00.0", "4310");
  EXPECT_THAT(to_text(first, PlanDetail::brief, Style{}),
              AllOf(HasSubstr("This is a container"), HasSubstr("1. See which processes"),
                    HasSubstr("reboot the host")));
  EXPECT_THAT(to_text(second, PlanDetail::brief, Style{}, &first),
              AllOf(HasSubstr("the steps above"), HasSubstr("1.   ps -p 4310\n"),
                    Not(HasSubstr("See which processes")), Not(HasSubstr("reboot"))));
}

TEST(ReclaimText, other_steps_of_the_next_gpu_are_explained) {
  const plan::ReclaimPlan first = for_host("0000:03:00.0", "4127");
  plan::ReclaimPlan second = for_host("0000:06:00.0", "4310");
  second.host_steps.pop_back();
  EXPECT_THAT(to_text(second, PlanDetail::brief, Style{}, &first),
              AllOf(HasSubstr("This is a container"), HasSubstr("1. See which processes")));
}

}  // namespace
}  // namespace headroom::report
