// SPDX-License-Identifier: Apache-2.0
// Fixes of what a user, a service or a container is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "plan/fixes/every_fix.h"
#include "plan/fixes/places.h"
#include "plan/fixes/quadlet_lines.h"
#include "plan/fixes/testing.h"

namespace headroom::plan {
namespace {

using namespace literals;
using testing::commands_of;
using testing::edit_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::known;
using testing::notes_of;
using testing::told_by;
using testing::World;

facts::Ownership owned(std::uint64_t mode, std::uint64_t gid) {
  return {known(mode), known(std::uint64_t{0}), known(gid)};
}

World refused_world() {
  World world;
  world.facts.machine.kfd_usable = known(false);
  world.facts.machine.kfd_owner = owned(0660, 104);
  world.files = {{"/etc/group", "root:x:0:\nvideo:x:44:bob\nrender:x:104:\n"}};
  return world;
}

TEST(DevicePermissionFix, the_user_joins_the_groups_that_own_the_nodes) {
  World world = refused_world();
  world.facts.gpus[0].render_owner = owned(0660, 44);
  ASSERT_TRUE(world.applies(device_permission_fix));
  const Change change = *world.plan(device_permission_fix);
  EXPECT_THAT(commands_of(change),
              ElementsAre("usermod -aG render alice", "usermod -aG video alice"));
  EXPECT_THAT(notes_of(change), HasSubstr("Log out and log in again"));
  const auto& command = std::get<Command>(change.steps[1].action);
  EXPECT_EQ(join(command.undo, " "), "gpasswd -d alice video");
  EXPECT_EQ(command.undo_run, UndoRun::if_changed);
  EXPECT_EQ(change.steps[0].expects[0].text, "render:x:104:alice");
  EXPECT_EQ(change.steps[1].expects[0].text, "video:x:44:bob,alice");
}

TEST(DevicePermissionFix, a_member_has_only_to_log_in_again) {
  World world = refused_world();
  world.files[0].text = "video:x:44:\nrender:x:104:bob,alice\n";
  EXPECT_FALSE(world.applies(device_permission_fix));
  EXPECT_THAT(world.plan(device_permission_fix).error().message,
              HasSubstr("Log out and log in again"));
}

TEST(DevicePermissionFix, who_may_open_the_nodes_needs_nothing) {
  World world = refused_world();
  world.facts.machine.kfd_usable = known(true);
  EXPECT_FALSE(world.applies(device_permission_fix));
  world.facts.machine.kfd_usable = {facts::Missing{facts::Why::not_applicable, ""}, {}};
  EXPECT_FALSE(world.applies(device_permission_fix));
}

TEST(DevicePermissionFix, without_a_user_it_asks_whose_groups_are_meant) {
  World world = refused_world();
  world.options.user = "root";
  EXPECT_FALSE(world.applies(device_permission_fix));
  EXPECT_THAT(world.plan(device_permission_fix).error().next, HasSubstr("--user NAME"));
}

// As root sees it for alice: everything can be opened by who looks.
World world_seen_by_root() {
  World world = refused_world();
  world.facts.machine.kfd_usable = known(true);
  world.facts.gpus[0].render_usable = known(true);
  world.facts.gpus[0].render_owner = owned(0660, 44);
  world.files.push_back(
      {"/etc/passwd", "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/a:\n"});
  world.options.looked_as_user = false;
  return world;
}

TEST(DevicePermissionFix, root_asks_for_the_user_whose_groups_lack_it) {
  World world = world_seen_by_root();
  ASSERT_TRUE(world.applies(device_permission_fix));
  EXPECT_THAT(commands_of(*world.plan(device_permission_fix)),
              ElementsAre("usermod -aG render alice", "usermod -aG video alice"));
}

TEST(DevicePermissionFix, root_asks_for_nobody_by_itself) {
  World world = world_seen_by_root();
  world.options.user = "root";
  world.options.looked_as_user = true;
  EXPECT_FALSE(world.applies(device_permission_fix));
  const Error error = world.plan(device_permission_fix).error();
  EXPECT_THAT(error.message, HasSubstr("expected the user"));
  EXPECT_EQ(error.next, "headroom fix device-permission --user NAME");
}

TEST(DevicePermissionFix, a_user_whose_groups_suffice_hears_of_older_sessions) {
  World world = world_seen_by_root();
  world.files[0].text = "video:x:44:alice\nrender:x:104:alice\n";
  EXPECT_FALSE(world.applies(device_permission_fix));
  EXPECT_THAT(world.plan(device_permission_fix).error().message,
              HasSubstr("log out and log in again"));
}

TEST(DevicePermissionFix, the_users_own_group_and_own_node_count) {
  World world = world_seen_by_root();
  world.files[0].text = "video:x:44:alice\nrender:x:104:\n";
  world.files[1].text = "alice:x:1000:104::/home/a:\n";
  EXPECT_FALSE(world.applies(device_permission_fix));
  world.files[1].text = "alice:x:1000:1000::/home/a:\n";
  EXPECT_TRUE(world.applies(device_permission_fix));
  world.facts.machine.kfd_owner = {known(std::uint64_t{0600}), known(std::uint64_t{1000}),
                                   known(std::uint64_t{0})};
  EXPECT_FALSE(world.applies(device_permission_fix));
}

TEST(DevicePermissionFix, what_is_not_known_refuses_nobody) {
  World world = world_seen_by_root();
  world.facts.machine.kfd_owner = {};
  world.facts.gpus[0].render_owner = {};
  EXPECT_FALSE(world.applies(device_permission_fix));
  EXPECT_THAT(world.plan(device_permission_fix).error().message,
              HasSubstr("does not know who may open"));
  world = world_seen_by_root();
  world.files.clear();  // A capture without /etc/group.
  EXPECT_FALSE(world.applies(device_permission_fix));
  EXPECT_THAT(world.plan(device_permission_fix).error().message,
              HasSubstr("does not know the groups"));
}

TEST(DevicePermissionFix, a_group_without_a_name_is_not_one_that_the_user_is_in) {
  World world = world_seen_by_root();
  world.files[0].text = "video:x:44:alice\n";
  EXPECT_FALSE(world.applies(device_permission_fix));
  const Error error = world.plan(device_permission_fix).error();
  EXPECT_THAT(error.message, HasSubstr("a group with the number 104"));
  EXPECT_THAT(error.next, HasSubstr("getent group 104"));
}

TEST(DevicePermissionFix, a_group_of_the_system_image_is_copied_first) {
  World world = refused_world();
  world.files = {{"/etc/group", "root:x:0:\nwheel:x:10:alice"},
                 {"/usr/lib/group", "video:x:39:\nrender:x:104:\n"}};
  const Change change = *world.plan(device_permission_fix);
  EXPECT_EQ(edit_of(change, "/etc/group")->after, "root:x:0:\nwheel:x:10:alice\nrender:x:104:\n");
  EXPECT_THAT(commands_of(change), ElementsAre("usermod -aG render alice"));
}

TEST(DevicePermissionFix, a_node_of_root_alone_gets_a_group) {
  World world = refused_world();
  world.facts.machine.kfd_owner = owned(0600, 0);
  const Change change = *world.plan(device_permission_fix);
  const FileEdit* rule = edit_of(change, "/etc/udev/rules.d/70-headroom.rules");
  ASSERT_NE(rule, nullptr);
  EXPECT_THAT(*rule->after, HasSubstr("GROUP=\"render\", MODE=\"0660\""));
  EXPECT_THAT(commands_of(change),
              ElementsAre("udevadm control --reload", "udevadm trigger --subsystem-match=kfd",
                          "usermod -aG render alice", "usermod -aG video alice"));
}

TEST(DevicePermissionFix, in_a_container_it_is_told_for_the_host) {
  World world = refused_world();
  world.facts.machine.container = known(std::string("podman"));
  const Change change = *world.plan(device_permission_fix);
  EXPECT_THAT(told_by(change), HasSubstr("--group-add keep-groups"));
  EXPECT_TRUE(commands_of(change).empty());
  EXPECT_FALSE(world.applies(device_permission_fix));
}

TEST(DevicePermissionFix, rootless_quadlets_keep_the_users_groups) {
  World world;
  world.facts.machine.kfd_usable = known(true);
  world.facts.machine.kfd_owner = owned(0660, 104);
  const std::string path = "/var/home/alice/.config/containers/systemd/ui.container";
  world.files = {{path, "[Container]\nImage=x\nAddDevice=/dev/kfd\n\n[Install]\nWantedBy=a\n"}};
  const Change change = *world.plan(device_permission_fix);
  EXPECT_EQ(edit_of(change, path)->after,
            "[Container]\nImage=x\nAddDevice=/dev/kfd\nPodmanArgs=--group-add=keep-groups\n\n"
            "[Install]\nWantedBy=a\n");
  EXPECT_FALSE(change.steps[0].needs_root);
  world.files[0].text = *edit_of(change, path)->after;
  EXPECT_FALSE(world.applies(device_permission_fix));
  world.files[0].text = "[Container]\nAddDevice=/dev/kfd\n";
  world.facts.machine.kfd_owner = owned(0666, 104);
  EXPECT_FALSE(world.applies(device_permission_fix)) << "every user may open it";
}

TEST(Places, files_behind_a_link_to_home_are_the_users_too) {
  FixOptions options;
  options.home = std::string("/home") + "/alice";
  EXPECT_TRUE(is_in_home(options, options.home + "/.bashrc"));
  EXPECT_TRUE(is_in_home(options, "/var" + options.home + "/.bashrc"));
  EXPECT_FALSE(is_in_home(options, options.home + "2/.bashrc"));
  EXPECT_TRUE(needs_root(options, "/etc/environment"));
  options.home = "";
  EXPECT_TRUE(needs_root(options, "/etc/environment"));
}

TEST(Places, the_service_behind_a_file_is_known) {
  EXPECT_EQ(service_of("/etc/systemd/system/a.service"), "a.service");
  EXPECT_EQ(service_of("/etc/systemd/system/a@1.service.d/gpu.conf"), "a@1.service");
  EXPECT_EQ(service_of("/etc/containers/systemd/a.container"), "a.service");
  EXPECT_EQ(service_of("/etc/containers/systemd/a.container.d/x.conf"), "a.service");
  EXPECT_EQ(service_of("/etc/systemd/system.conf"), std::nullopt);
}

TEST(Places, what_packages_and_images_own_is_not_edited) {
  EXPECT_TRUE(is_editable("/etc/environment"));
  EXPECT_TRUE(is_editable("/usr/local/lib/systemd/system/a.service"));
  EXPECT_FALSE(is_editable("/usr/lib/systemd/system/a.service"));
  EXPECT_FALSE(is_editable("/nix/store/x/environment"));
}

TEST(QuadletLines, a_line_is_added_behind_its_section) {
  EXPECT_EQ(add_container_line("[Container]\nImage=x", "A=1"), "[Container]\nImage=x\nA=1\n");
  EXPECT_EQ(add_container_line("[Unit]\n", "A=1"), "[Unit]\n[Container]\nA=1\n");
  EXPECT_EQ(add_container_line("[Container]\nExec=a \\\n [b]\n[Service]\n", "A=1"),
            "[Container]\nExec=a \\\n [b]\nA=1\n[Service]\n");
}

TEST(MemlockFix, logins_services_and_quadlets_may_lock_memory) {
  World world;
  world.find("memlock-too-low");
  facts::Holder holder;
  holder.unit = "vllm.service";
  world.facts.gpus[0].holders = {holder};
  const std::string quadlet = "/etc/containers/systemd/a.container";
  world.files = {{quadlet, "[Container]\nAddDevice=/dev/kfd\n"}};
  const Change change = *world.plan(memlock_too_low_fix);
  EXPECT_THAT(*edit_of(change, "/etc/security/limits.d/90-headroom.conf")->after,
              HasSubstr("* - memlock unlimited\nroot - memlock unlimited\n"));
  EXPECT_EQ(edit_of(change, "/etc/systemd/system/vllm.service.d/zz-headroom.conf")->after,
            "# Made by headroom.\n[Service]\nLimitMEMLOCK=infinity\n");
  EXPECT_EQ(edit_of(change, quadlet)->after,
            "[Container]\nAddDevice=/dev/kfd\nUlimit=memlock=-1:-1\n");
  EXPECT_THAT(commands_of(change), ElementsAre("systemctl daemon-reload"));
}

TEST(MemlockFix, nothing_is_done_that_check_did_not_find) {
  World world;
  EXPECT_FALSE(world.applies(memlock_too_low_fix));
  EXPECT_FALSE(world.applies(shm_too_small_fix));
  EXPECT_FALSE(world.applies(cgroup_memory_limit_fix));
  EXPECT_FALSE(world.applies(iommu_not_passthrough_fix));
  EXPECT_FALSE(world.applies(igpu_beside_discrete_fix));
  EXPECT_FALSE(world.applies(stack_fix));
}

World limited_world(const char* path) {
  World world;
  world.find("cgroup-memory-limit");
  world.facts.machine.cgroup.memory_max = known(8_GiB, path);
  world.facts.machine.memory.total = known(64_GiB);
  return world;
}

TEST(CgroupLimitFix, a_units_limit_is_raised_in_a_drop_in) {
  World world = limited_world("/sys/fs/cgroup/system.slice/llm.service/memory.max");
  ASSERT_TRUE(world.applies(cgroup_memory_limit_fix));
  const Change change = *world.plan(cgroup_memory_limit_fix);
  EXPECT_EQ(edit_of(change, "/etc/systemd/system/llm.service.d/zz-headroom.conf")->after,
            "# Made by headroom.\n[Service]\nMemoryMax=57344M\n");
  world.options.size = "20GiB";
  EXPECT_THAT(*edit_of(*world.plan(cgroup_memory_limit_fix),
                       "/etc/systemd/system/llm.service.d/zz-headroom.conf")
                   ->after,
              HasSubstr("MemoryMax=20480M"));
}

TEST(CgroupLimitFix, a_slice_has_a_section_of_its_own_and_a_user_unit_its_own_place) {
  World slice = limited_world("/sys/fs/cgroup/user.slice/user-1000.slice/memory.max");
  EXPECT_THAT(*edit_of(*slice.plan(cgroup_memory_limit_fix),
                       "/etc/systemd/system/user-1000.slice.d/zz-headroom.conf")
                   ->after,
              HasSubstr("[Slice]\nMemoryMax="));
  World unit = limited_world(
      "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/ui.service/"
      "memory.max");
  const Change change = *unit.plan(cgroup_memory_limit_fix);
  EXPECT_NE(edit_of(change, "/var/home/alice/.config/systemd/user/ui.service.d/zz-headroom.conf"),
            nullptr);
  EXPECT_FALSE(change.steps[0].needs_root);
}

TEST(CgroupLimitFix, what_no_file_keeps_is_told) {
  World world = limited_world("/sys/fs/cgroup/user.slice/run-r1.scope/memory.max");
  EXPECT_THAT(told_by(*world.plan(cgroup_memory_limit_fix)), HasSubstr("systemd-run --user"));
  EXPECT_FALSE(world.applies(cgroup_memory_limit_fix));
  world.facts.machine.container = known(std::string("docker"));
  EXPECT_THAT(told_by(*world.plan(cgroup_memory_limit_fix)),
              HasSubstr("docker update --memory 56g"));
}

TEST(CgroupLimitFix, sizes_that_make_no_sense_are_refused) {
  World world = limited_world("/sys/fs/cgroup/system.slice/llm.service/memory.max");
  for (const char* size : {"65GiB", "4GiB", "much"}) {
    world.options.size = size;
    EXPECT_FALSE(world.plan(cgroup_memory_limit_fix).has_value()) << size;
  }
}

TEST(ShmFix, the_host_is_told_in_its_engines_words) {
  World world;
  world.find("shm-too-small");
  for (const auto& [engine, words] :
       std::vector<std::pair<std::string, std::string>>{{"docker", "docker run --shm-size 16g"},
                                                        {"podman", "ShmSize=16g"},
                                                        {"kubernetes", "emptyDir"},
                                                        {"lxc", "lxc.mount.entry"}}) {
    world.facts.machine.container = known(engine);
    EXPECT_THAT(told_by(*world.plan(shm_too_small_fix)), HasSubstr(words));
  }
}

}  // namespace
}  // namespace headroom::plan
