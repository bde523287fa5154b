// SPDX-License-Identifier: Apache-2.0
// Fixes of software: the stack for a card, libraries under the names that are asked for, an
// integrated GPU that is hidden.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/fixes/every_fix.h"
#include "plan/fixes/testing.h"

namespace headroom::plan {
namespace {

using testing::commands_of;
using testing::edit_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::known;
using testing::make_gpu;
using testing::notes_of;
using testing::told_by;
using testing::World;

TEST(StackFix, a_dropped_card_gets_the_last_wheel_that_carries_it) {
  World world("gfx906");
  world.options.output = "/var/home/alice/mi50/";
  world.look();
  const Change change = *world.plan(stack_fix);
  const std::string text = *edit_of(change, "/var/home/alice/mi50/requirements.txt")->after;
  EXPECT_THAT(text, HasSubstr("--index-url https://download.pytorch.org/whl/rocm6.0\n"
                              "torch==2.4.1+rocm6.0\n"));
  EXPECT_THAT(text, HasSubstr("# Python 3.8 to 3.12.\n"));
  EXPECT_THAT(notes_of(change), HasSubstr("python3.12 -m venv venv"));
  for (const Step& step : change.steps) EXPECT_FALSE(step.needs_root);
  EXPECT_TRUE(world.applies(stack_fix));
}

TEST(StackFix, without_a_folder_it_is_told) {
  World world("gfx1151");
  world.look();
  const Change change = *world.plan(stack_fix);
  EXPECT_THAT(told_by(change), HasSubstr("torch[device-gfx1151]"));
  EXPECT_THAT(told_by(change), HasSubstr("pip install \"torch[device-gfx1151]\" --index-url "));
  EXPECT_TRUE(has_instruction(change));
  EXPECT_FALSE(world.applies(stack_fix)) << "nothing is wrong with what is installed";
}

TEST(StackFix, every_target_gets_a_stack_or_a_reason) {
  for (const auto& [gfx, target] : testing::tables().targets) {
    World world(gfx.c_str());
    world.look();
    ASSERT_TRUE(world.diagnosis.suitability[0].has_value()) << gfx;
    const findings::StackRoute route = world.diagnosis.suitability[0]->route;
    const auto change = world.plan(stack_fix);
    if (!change) {
      EXPECT_EQ(change.error().code, Errc::unsupported) << gfx;
      EXPECT_NE(route, findings::StackRoute::community) << gfx;
      continue;
    }
    const std::string told = told_by(*change);
    EXPECT_THAT(told, HasSubstr("torch")) << gfx;
    EXPECT_EQ(told.find("HSA_OVERRIDE_GFX_VERSION=") != std::string::npos,
              route == findings::StackRoute::override)
        << gfx;
    if (route == findings::StackRoute::old_stack) {
      EXPECT_THAT(told, HasSubstr(testing::tables().stack(gfx)->torch)) << gfx;
    }
  }
}

TEST(StackFix, the_discrete_card_is_meant) {
  World world("gfx1036");
  world.facts.gpus = {make_gpu("a", "gfx1036", true), make_gpu("b", "gfx1100")};
  world.look();
  EXPECT_THAT(told_by(*world.plan(stack_fix)), HasSubstr("torch[device-gfx1100]"));
}

TEST(StackFix, a_folder_that_is_no_whole_path_is_refused) {
  World world;
  world.options.output = "here";
  world.look();
  EXPECT_THAT(world.plan(stack_fix).error().next, HasSubstr("$PWD/here"));
}

TEST(StackFix, no_card_has_no_stack) {
  World world;
  world.facts.gpus.clear();
  world.look();
  EXPECT_EQ(world.plan(stack_fix).error().code, Errc::unsupported);
}

TEST(StackFix, in_wsl_it_is_amds_wheels_with_the_switch) {
  World world;
  world.facts.gpus.clear();
  world.facts.wsl.kind = facts::WslKind::wsl2;
  world.facts.wsl.dxg = known(true);
  world.look();
  world.options.output = "/var/home/alice/wsl";
  const Change change = *world.plan(stack_fix);
  const std::string requirements =
      edit_of(change, "/var/home/alice/wsl/requirements.txt")->after.value_or("");
  EXPECT_THAT(requirements, HasSubstr("--find-links https://repo.radeon.com/"));
  EXPECT_THAT(requirements, HasSubstr("torch==2.9.1+rocm7.2.1"));
  EXPECT_THAT(edit_of(change, "/var/home/alice/wsl/env")->after.value_or(""),
              HasSubstr("HSA_ENABLE_DXG_DETECTION=1"));
  world.facts.wsl.kind = facts::WslKind::wsl1;
  EXPECT_THAT(world.plan(stack_fix).error().next, HasSubstr("--set-version"));
}

World library_world(bool unversioned, bool ids_in_opt) {
  World world;
  world.libraries.libdrm_amdgpu = known(facts::LibraryFolder{
      "/usr/lib/x86_64-linux-gnu", "/usr/local/lib/x86_64-linux-gnu", unversioned});
  world.libraries.ids = known(std::string("/usr/share/libdrm/amdgpu.ids"));
  world.libraries.ids_in_opt = ids_in_opt;
  return world;
}

TEST(MissingLibraryFix, links_stand_where_the_administrators_files_belong) {
  const World world = library_world(false, false);
  ASSERT_TRUE(world.applies(missing_library_fix));
  const Change change = *world.plan(missing_library_fix);
  const auto& library = std::get<LinkEdit>(change.steps[0].action);
  EXPECT_EQ(library.path, "/usr/local/lib/x86_64-linux-gnu/libdrm_amdgpu.so");
  EXPECT_EQ(library.after, "/usr/lib/x86_64-linux-gnu/libdrm_amdgpu.so.1");
  EXPECT_EQ(std::get<LinkEdit>(change.steps[1].action).path, "/opt/amdgpu/share/libdrm/amdgpu.ids");
  EXPECT_THAT(commands_of(change), ElementsAre("ldconfig"));
}

TEST(MissingLibraryFix, what_is_there_is_left) {
  EXPECT_FALSE(library_world(true, true).applies(missing_library_fix));
  EXPECT_EQ(library_world(true, false).plan(missing_library_fix)->steps.size(), 1U);
  EXPECT_EQ(commands_of(*library_world(true, false).plan(missing_library_fix)).size(), 0U);
  EXPECT_FALSE(World().applies(missing_library_fix)) << "the library itself is missing";
}

TEST(MissingLibraryFix, a_system_image_is_never_edited) {
  World world = library_world(false, false);
  world.boot.image_based = true;
  EXPECT_FALSE(world.applies(missing_library_fix));
  const Change change = *world.plan(missing_library_fix);
  for (const Step& step : change.steps) EXPECT_EQ(step.kind, StepKind::by_hand);
}

World two_gpus() {
  World world;
  world.facts.gpus = {make_gpu("0000:03:00.0", "gfx1100"),
                      make_gpu("0000:0c:00.0", "gfx1036", true)};
  world.facts.gpus[0].connection.rocr_index = known(std::uint64_t{1});
  world.facts.gpus[1].connection.rocr_index = known(std::uint64_t{0});
  world.files = {{"/etc/environment", "PATH=/bin"}};
  world.look();
  return world;
}

TEST(IgpuFix, the_discrete_card_alone_is_listed) {
  World world = two_gpus();
  ASSERT_TRUE(world.applies(igpu_beside_discrete_fix));
  EXPECT_EQ(edit_of(*world.plan(igpu_selected_fix), "/etc/environment")->after,
            "PATH=/bin\nROCR_VISIBLE_DEVICES=1\n");
  world.facts.gpus[0].unique_id = known(std::uint64_t{0xd1aa00000001});
  const Change change = *world.plan(igpu_beside_discrete_fix);
  EXPECT_EQ(edit_of(change, "/etc/environment")->after,
            "PATH=/bin\nROCR_VISIBLE_DEVICES=GPU-0000d1aa00000001\n");
  EXPECT_THAT(notes_of(change), HasSubstr("Vulkan, OpenGL"));
}

TEST(IgpuFix, a_mask_that_somebody_set_is_left) {
  World world = two_gpus();
  facts::Setting setting;
  setting.name = "HIP_VISIBLE_DEVICES";
  setting.value = "0";
  setting.source.path = "/etc/environment";
  setting.scope = facts::Scope::environment_file;
  world.facts.environment.settings = {setting};
  EXPECT_FALSE(world.applies(igpu_beside_discrete_fix));
  EXPECT_THAT(world.plan(igpu_selected_fix).error().message, HasSubstr("HIP_VISIBLE_DEVICES=0"));
}

TEST(IgpuFix, a_place_that_is_not_known_is_not_guessed) {
  World world = two_gpus();
  world.facts.gpus[0].connection.rocr_index = {};
  EXPECT_EQ(world.plan(igpu_selected_fix).error().code, Errc::unsupported);
}

TEST(Fixes, every_id_is_there_once_and_is_found) {
  for (const Fix* fix : fixes()) EXPECT_EQ(find_fix(fix->id), fix) << fix->id;
  EXPECT_EQ(find_fix("no-such-fix"), nullptr);
}

}  // namespace
}  // namespace headroom::plan
