// SPDX-License-Identifier: Apache-2.0
#include "facts/cgroup.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

const std::string id(64, 'a');

Text text(std::string words) {
  return {std::move(words), Source{"/file", 0, ""}};
}

TEST(Cgroup, both_versions_name_their_paths) {
  const auto paths = parse_cgroup_paths("9:name=systemd:/\n4:cpu,memory:/a:b\n0::/user.slice\n");
  EXPECT_EQ(paths.v2, "/user.slice");
  EXPECT_EQ(paths.memory_v1, "/a:b");
  EXPECT_EQ(parse_cgroup_paths("nonsense\n").v2, "");
}

TEST(Cgroup, containers_of_every_engine) {
  const auto docker = parse_membership("0::/system.slice/docker-" + id + ".scope\n");
  EXPECT_EQ(docker.engine, "docker");
  EXPECT_EQ(docker.container, "aaaaaaaaaaaa");
  const auto podman = parse_membership(
      "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id + ".scope\n");
  EXPECT_EQ(podman.engine, "podman");
  const auto pod =
      parse_membership("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope\n");
  EXPECT_EQ(pod.engine, "kubernetes");
  EXPECT_EQ(pod.container, "aaaaaaaaaaaa");
  EXPECT_EQ(parse_membership("0::/lxc.payload.web/system.slice\n").container, "web");
  EXPECT_EQ(parse_membership("4:memory:/docker/" + id + "\n").engine, "docker");
}

TEST(Cgroup, jobs_of_batch_systems) {
  EXPECT_EQ(parse_membership("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n").job,
            "slurm job 4711");
  EXPECT_EQ(parse_membership("4:memory:/slurm/uid_1000/job_4712/step_batch\n").job,
            "slurm job 4712");
  EXPECT_EQ(parse_membership("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
                             "pod3f1c0a2b_1111_2222_3333_444455556666.slice/cri-containerd-" +
                             id + ".scope\n")
                .job,
            "pod 3f1c0a2b");
  EXPECT_EQ(parse_membership("0::/user.slice/job_x\n").job, "");
  EXPECT_EQ(parse_membership("0::/podcasts/pod1234567890\n").job, "");
}

TEST(Cgroup, units_without_a_container) {
  const auto service = parse_membership("0::/system.slice/ollama.service\n");
  EXPECT_EQ(service.engine, "");
  EXPECT_EQ(service.unit, "ollama.service");
  EXPECT_EQ(parse_membership("0::/user.slice/user@1000.service/app.slice/a.scope\n").unit,
            "a.scope");
  EXPECT_EQ(parse_membership("0::/\n").unit, "");
}

TEST(Cgroup, no_limit_is_said_and_is_no_number) {
  EXPECT_EQ(parse_memory_limit(text("max\n")).missing().why, Why::not_limited);
  EXPECT_EQ(parse_memory_limit(text("9223372036854771712\n")).missing().why, Why::not_limited);
  EXPECT_EQ(parse_memory_limit(text("4294967296\n"))->value, 4294967296U);
  EXPECT_EQ(parse_memory_limit(text("many\n")).missing().why, Why::not_understood);
}

TEST(Cgroup, dmem_is_read_per_device) {
  const Text dmem = text("drm/0000:03:00.0/vram0 1073741824\ndrm/0000:06:00.0/vram0 max\n");
  const auto first = parse_dmem(dmem, "0000:03:00.0");
  EXPECT_EQ(first->value, 1073741824U);
  EXPECT_EQ(first.source().line, 1);
  EXPECT_EQ(parse_dmem(dmem, "0000:06:00.0").missing().why, Why::not_limited);
  EXPECT_EQ(parse_dmem(dmem, "0000:09:00.0").missing().why, Why::not_limited);
}

}  // namespace
}  // namespace headroom::facts
