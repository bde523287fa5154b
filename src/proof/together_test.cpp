// SPDX-License-Identifier: Apache-2.0
#include "proof/together.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::proof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JoinedStep step(std::string_view name, std::optional<bool> ok) {
  JoinedStep one;
  one.result.name = std::string(name);
  one.result.ok = ok;
  one.result.detail = "found";
  one.between = {"0000:03:00.0", "0000:07:00.0"};
  return one;
}

TogetherReport make(std::vector<JoinedStep> steps) {
  TogetherReport report;
  report.on_gpu = true;
  report.devices = {{"0000:03:00.0", "a card"}, {"0000:07:00.0", "a card"}};
  report.steps = std::move(steps);
  return report;
}

findings::Finding finding(const std::string& id) {
  findings::Finding one;
  one.id = id;
  one.title = "about " + id;
  one.evidence = {{"/sys/file", 1, "DMA", "as read"}};
  one.fix = {findings::sentence("mend " + id)};
  return one;
}

findings::Diagnosis diagnosis(const std::vector<std::string>& ids) {
  findings::Diagnosis found;
  for (const std::string& id : ids) found.findings.push_back(finding(id));
  return found;
}

std::vector<std::string> ids_of(const TogetherReport& report) {
  std::vector<std::string> ids;
  for (const Explanation& one : report.facts) ids.push_back(one.id);
  return ids;
}

std::string instead_of(const TogetherReport& report) {
  std::string text;
  for (const std::string& one : findings::texts_of(report.instead)) text += one + "\n";
  return text;
}

TEST(Together, nothing_is_explained_where_nothing_failed) {
  TogetherReport report = make({step(peer_step, true), step(data_parallel_step, std::nullopt)});
  explain(diagnosis({"iommu-not-passthrough"}), report);
  EXPECT_FALSE(has_failure(report));
  EXPECT_THAT(report.facts, IsEmpty());
  EXPECT_THAT(report.instead, IsEmpty());
}

TEST(Together, copy_that_fails_is_explained_by_what_lies_between_the_cards) {
  TogetherReport report = make({step(peer_step, false), step(gloo_step, true)});
  explain(diagnosis({"shm-too-small", "acs-blocks-peers", "iommu-not-passthrough"}), report);
  EXPECT_THAT(ids_of(report), ElementsAre("iommu-not-passthrough", "acs-blocks-peers"));
  const StepCause& cause = *report.steps[0].result.cause;
  EXPECT_EQ(cause.id, "rccl-p2p");
  EXPECT_THAT(cause.title, HasSubstr("0000:03:00.0 to 0000:07:00.0"));
  EXPECT_EQ(cause.evidence[1].meaning, "about iommu-not-passthrough");
  EXPECT_EQ(cause.fix[0].text, "mend iommu-not-passthrough");
  EXPECT_THAT(instead_of(report), HasSubstr("by way of the processor"));
}

TEST(Together, sum_of_processes_is_explained_by_their_shared_memory) {
  TogetherReport report = make({step(gloo_step, false)});
  explain(diagnosis({"iommu-not-passthrough", "shm-too-small"}), report);
  EXPECT_THAT(ids_of(report), ElementsAre("shm-too-small"));
  EXPECT_EQ(report.steps[0].result.cause->id, "collective-hang");
  // The averager's segment would lie in the same memory.
  EXPECT_THAT(instead_of(report), Not(HasSubstr("--ranks")));
}

TEST(Together, what_works_without_peers_is_named_with_its_variable) {
  TogetherReport report = make({step(nccl_step, false), step(no_peers_step, true)});
  explain({}, report);
  EXPECT_THAT(instead_of(report), HasSubstr("NCCL_P2P_DISABLE=1 torchrun --nproc-per-node 2"));
  EXPECT_THAT(instead_of(report), HasSubstr("headroom run --ranks 2"));
}

TEST(Together, what_fails_without_peers_too_is_not_advised) {
  TogetherReport report = make({step(nccl_step, false), step(no_peers_step, false)});
  explain({}, report);
  EXPECT_THAT(instead_of(report), Not(HasSubstr("NCCL_P2P_DISABLE")));
}

TEST(Together, way_that_works_stands_for_one_that_does_not) {
  TogetherReport report =
      make({step(ddp_step, true), step(fsdp_step, false), step(data_parallel_step, false)});
  explain({}, report);
  EXPECT_THAT(instead_of(report), HasSubstr("in place of DataParallel"));
  EXPECT_THAT(instead_of(report), HasSubstr("in place of FSDP"));
  report = make({step(ddp_step, false), step(data_parallel_step, false)});
  explain({}, report);
  EXPECT_THAT(instead_of(report), Not(HasSubstr("in place of")));
}

TEST(Together, cause_that_the_log_told_stays_and_a_bare_hang_does_not) {
  TogetherReport report = make({step(fsdp_step, false), step(data_parallel_step, false)});
  report.steps[0].result.cause = StepCause{"gpu-hang", 0.9, "a page fault", {}, {}};
  report.steps[1].result.cause = StepCause{"gpu-hang", 0.6, "the GPU", {}, {}};
  report.steps[1].is_hung = true;
  explain(diagnosis({"iommu-not-passthrough"}), report);
  EXPECT_EQ(report.steps[0].result.cause->id, "gpu-hang");
  EXPECT_EQ(report.steps[1].result.cause->id, "collective-hang");
}

TEST(Together, same_finding_of_two_steps_is_named_once) {
  TogetherReport report = make({step(peer_step, false), step(nccl_step, false)});
  explain(diagnosis({"iommu-not-passthrough"}), report);
  EXPECT_EQ(report.facts.size(), 1U);
}

}  // namespace
}  // namespace headroom::proof
