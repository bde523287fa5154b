// SPDX-License-Identifier: Apache-2.0
#include "run/proof/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace headroom::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class InContainer : public testing::Test {
 protected:
  std::string command_of(const Container& container, std::vector<std::string> environment = {}) {
    StepHost host{.python = "",
                  .command = {},
                  .environment = std::move(environment),
                  .steps = {},
                  .limit = {},
                  .facts = facts_,
                  .diagnosis = diagnosis_,
                  .tables = tables_,
                  .rules = rules_,
                  .on_step = {}};
    run_in_container(container, host);
    clean_up_ = host.clean_up;
    EXPECT_TRUE(host.holds_input);
    return join(host.command, " ");
  }

  facts::Facts facts_;
  findings::Diagnosis diagnosis_;
  knowledge::GpuTables tables_;
  LogRules rules_;
  std::vector<std::string> clean_up_;
};

TEST_F(InContainer, nothing_is_fetched_kept_or_reached_from_it) {
  const std::string words = command_of({"docker", "image", "name", "/steps", {}});
  for (const char* part :
       {"--pull never", "--network none", "--rm", "/steps:/headroom/headroom_steps:ro"})
    EXPECT_THAT(words, HasSubstr(part));
  EXPECT_THAT(words, HasSubstr("--entrypoint python3 image -B /headroom/headroom_steps guard"));
  EXPECT_THAT(words, Not(HasSubstr("--device")));
  EXPECT_THAT(clean_up_, ElementsAre("docker", "rm", "--force", "name"));
}

TEST_F(InContainer, gpu_and_its_masks_are_passed_on) {
  const std::string words =
      command_of({"/usr/bin/podman", "image", "name", "/steps", {"/dev/kfd", "/dev/dri"}},
                 {"HIP_VISIBLE_DEVICES=1", "HOME=/root"});
  EXPECT_THAT(words, HasSubstr("--device /dev/kfd --device /dev/dri --group-add keep-groups"));
  EXPECT_THAT(words, HasSubstr("--env HIP_VISIBLE_DEVICES"));
  EXPECT_THAT(words, Not(HasSubstr("ROCR_VISIBLE_DEVICES")));
}

}  // namespace
}  // namespace headroom::run
