// SPDX-License-Identifier: Apache-2.0
// Fixes that take settings out of files: which ones go, which stay, and what is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/fixes/every_fix.h"
#include "plan/fixes/testing.h"
#include "plan/settings/removal.h"

namespace headroom::plan {
namespace {

using testing::commands_of;
using testing::edit_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::notes_of;
using testing::told_by;
using testing::World;

TEST(GfxOverrideFix, a_dangerous_one_is_taken_out_of_every_file) {
  World world;  // gfx1100: 10.3.0 is another family's code.
  world.files = {
      {"/var/home/alice/.bashrc", "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n"},
      {"/etc/environment", "A=1\nHSA_OVERRIDE_GFX_VERSION_0=10.3.0\n"},
      {"/etc/systemd/system/ollama.service.d/gpu.conf",
       "[Service]\nEnvironment=A=1 HSA_OVERRIDE_GFX_VERSION=10.3.0\n"},
      {"/var/home/alice/ui/compose.yaml", "environment:\n  - HSA_OVERRIDE_GFX_VERSION=10.3.0\n"},
      {"/var/home/alice/.profile", "export A=1\n"}};
  ASSERT_TRUE(world.applies(gfx_override_wrong_fix));
  const Change change = *world.plan(gfx_override_wrong_fix);
  EXPECT_EQ(change.fix, "gfx-override-wrong");
  EXPECT_EQ(edit_of(change, "/var/home/alice/.bashrc")->after,
            "# headroom: taken out: export HSA_OVERRIDE_GFX_VERSION=10.3.0\n");
  EXPECT_EQ(edit_of(change, "/etc/environment")->after,
            "A=1\n# headroom: taken out: HSA_OVERRIDE_GFX_VERSION_0=10.3.0\n");
  EXPECT_EQ(edit_of(change, "/etc/systemd/system/ollama.service.d/gpu.conf")->after,
            "[Service]\n# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "Environment=A=1\n");
  EXPECT_EQ(edit_of(change, "/var/home/alice/.profile"), nullptr);
  EXPECT_THAT(commands_of(change), ElementsAre("systemctl daemon-reload"));
  EXPECT_THAT(notes_of(change), HasSubstr("sudo systemctl restart ollama.service"));
  EXPECT_THAT(notes_of(change), HasSubstr("in /var/home/alice/ui: docker compose up -d"));
  EXPECT_THAT(notes_of(change), HasSubstr("Log in again"));
  EXPECT_FALSE(has_instruction(change));
  for (const Step& step : change.steps) {
    const auto* edit = std::get_if<FileEdit>(&step.action);
    if (edit == nullptr) continue;
    EXPECT_EQ(step.needs_root, !edit->path.starts_with("/var/home/alice/")) << edit->path;
    EXPECT_THAT(step.why, HasSubstr("cannot run that target's code"));
  }
}

TEST(GfxOverrideFix, one_that_suits_the_card_stays) {
  World world("gfx1031");
  world.files = {{"/var/home/alice/.bashrc", "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n"}};
  EXPECT_FALSE(world.applies(gfx_override_wrong_fix));
  EXPECT_EQ(world.plan(gfx_override_wrong_fix).error().code, Errc::invalid);
}

TEST(GfxOverrideFix, one_that_names_the_cards_own_target_is_needless) {
  World world;
  world.files = {{"/etc/environment", "HSA_OVERRIDE_GFX_VERSION=11.0.0\n"}};
  EXPECT_TRUE(world.applies(gfx_override_wrong_fix));
}

TEST(GfxOverrideFix, a_plain_assignment_that_no_program_sees_stays) {
  World world;
  world.files = {{"/var/home/alice/.bashrc", "HSA_OVERRIDE_GFX_VERSION=10.3.0\n"}};
  EXPECT_FALSE(world.applies(gfx_override_wrong_fix));
  world.files[0].text += "export HSA_OVERRIDE_GFX_VERSION\n";
  EXPECT_TRUE(world.applies(gfx_override_wrong_fix));
}

TEST(GfxOverrideFix, values_from_elsewhere_are_followed_or_left) {
  World world;
  world.files = {
      {"/srv/a/compose.yaml", "environment:\n  A: 1\n  HSA_OVERRIDE_GFX_VERSION: ${GFX:-11.0.0}\n"},
      {"/srv/a/.env", "GFX=10.3.0\n"}};
  ASSERT_TRUE(world.applies(gfx_override_wrong_fix));
  world.files[1].text = "GFX=$OTHER\n";
  EXPECT_TRUE(world.applies(gfx_override_wrong_fix));  // By its default, which is needless.
  world.files[0].text = "environment:\n  HSA_OVERRIDE_GFX_VERSION: ${GFX}\n";
  EXPECT_FALSE(world.applies(gfx_override_wrong_fix));
}

TEST(GfxOverrideFix, a_unit_of_the_distribution_is_overridden_by_a_drop_in) {
  World world;
  world.files = {{"/usr/lib/systemd/system/llm.service",
                  "[Service]\nEnvironment=HSA_OVERRIDE_GFX_VERSION=10.3.0\n"}};
  const Change change = *world.plan(gfx_override_wrong_fix);
  const FileEdit* edit = edit_of(change, "/etc/systemd/system/llm.service.d/zz-headroom.conf");
  ASSERT_NE(edit, nullptr);
  EXPECT_EQ(edit->before, std::nullopt);
  EXPECT_EQ(edit->after,
            "# Made by headroom.\n[Service]\nUnsetEnvironment=HSA_OVERRIDE_GFX_VERSION\n");
  world.files.push_back({edit->path, *edit->after});
  EXPECT_FALSE(world.applies(gfx_override_wrong_fix));
}

TEST(GfxOverrideFix, what_cannot_be_edited_is_told) {
  World world;
  world.files = {
      {"/etc/systemd/system/a.service",
       "[Service]\nExecStart=/usr/bin/env HSA_OVERRIDE_GFX_VERSION=10.3.0 python a.py\n"},
      {"/srv/a/Dockerfile", "FROM x\nENV HSA_OVERRIDE_GFX_VERSION=10.3.0\n"},
      {"/var/home/alice/.config/fish/fish_variables",
       "# VERSION: 3.0\nSETUVAR --export HSA_OVERRIDE_GFX_VERSION:10\\x2e3\\x2e0\n"},
      {"/usr/share/containers/systemd/b.container",
       "[Container]\nEnvironment=HSA_OVERRIDE_GFX_VERSION=10.3.0\n"},
      {"/nix/store/x-etc/environment", "HSA_OVERRIDE_GFX_VERSION=10.3.0\n"}};
  const Change change = *world.plan(gfx_override_wrong_fix);
  for (const Step& step : change.steps) EXPECT_EQ(step.kind, StepKind::by_hand) << step.what;
  const std::string told = told_by(change);
  EXPECT_THAT(told, HasSubstr("from the command in /etc/systemd/system/a.service (line 2)"));
  EXPECT_THAT(told, HasSubstr("from /srv/a/Dockerfile (line 2) and build the image again"));
  EXPECT_THAT(told, HasSubstr("set -eU HSA_OVERRIDE_GFX_VERSION"));
  EXPECT_THAT(told, HasSubstr("Copy the file to /etc/containers/systemd/b.container"));
  EXPECT_THAT(told, HasSubstr("configuration.nix"));
  EXPECT_FALSE(world.applies(gfx_override_wrong_fix));
}

TEST(GfxOverrideFix, jobs_that_still_run_with_it_are_named) {
  World world;
  world.files = {{"/etc/environment", "HSA_OVERRIDE_GFX_VERSION=10.3.0\n"}};
  facts::Setting setting;
  setting.name = "HSA_OVERRIDE_GFX_VERSION";
  setting.value = "10.3.0";
  setting.scope = facts::Scope::process;
  setting.pid = 4711;
  world.facts.environment.settings = {setting};
  EXPECT_THAT(notes_of(*world.plan(gfx_override_wrong_fix)), HasSubstr("Process 4711 still runs"));
  world.files.clear();
  EXPECT_FALSE(world.applies(gfx_override_wrong_fix));
  EXPECT_THAT(world.plan(gfx_override_wrong_fix).error().message, HasSubstr("Process 4711"));
}

TEST(GfxOverrideFix, without_systemctl_the_reload_is_told) {
  World world;
  world.boot.programs.clear();
  world.files = {
      {"/etc/systemd/system/a.service", "Environment=HSA_OVERRIDE_GFX_VERSION=10.3.0\n"}};
  const Change change = *world.plan(gfx_override_wrong_fix);
  EXPECT_THAT(commands_of(change), IsEmpty());
  EXPECT_THAT(notes_of(change), HasSubstr("sudo systemctl daemon-reload"));
}

TEST(GfxOverrideFix, units_of_the_user_are_reloaded_by_the_user) {
  World world;
  world.files = {{"/var/home/alice/.config/systemd/user/ui.service",
                  "[Service]\nEnvironment=HSA_OVERRIDE_GFX_VERSION=10.3.0\n"}};
  const Change change = *world.plan(gfx_override_wrong_fix);
  EXPECT_THAT(commands_of(change), IsEmpty());
  EXPECT_THAT(notes_of(change), HasSubstr("systemctl --user daemon-reload"));
  EXPECT_THAT(notes_of(change), HasSubstr("systemctl --user restart ui.service"));
}

TEST(KnobFixes, a_renamed_variable_gets_its_new_name) {
  World world;
  world.facts.python.torch.version = testing::known(std::string("2.10.0+rocm7.1"));
  world.files = {{"/var/home/alice/.bashrc",
                  "export PYTORCH_HIP_ALLOC_CONF=garbage_collection_threshold:0.8 A=1\n"}};
  const Change change = *world.plan(knob_deprecated_fix);
  EXPECT_EQ(edit_of(change, "/var/home/alice/.bashrc")->after,
            "export PYTORCH_ALLOC_CONF=garbage_collection_threshold:0.8 A=1\n");
  EXPECT_THAT(change.steps[0].what, HasSubstr("Rename PYTORCH_HIP_ALLOC_CONF"));
  world.files[0].text = "export PYTORCH_ALLOC_CONF=max_split_size_mb:128\n";
  EXPECT_FALSE(world.applies(knob_deprecated_fix));
}

TEST(KnobFixes, what_the_audit_does_not_mind_stays) {
  World world;
  world.files = {
      {"/var/home/alice/.bashrc", "export HSA_XNACK=0 PATH=/bin HIP_VISIBLE_DEVICES=0\n"}};
  EXPECT_FALSE(world.applies(knob_dangerous_fix));
  EXPECT_FALSE(world.applies(knob_deprecated_fix));
  EXPECT_FALSE(world.applies(gfx_override_wrong_fix));
}

TEST(ExpandValue, defaults_and_files_beside_are_known_other_variables_are_not) {
  const std::vector<SettingPlace> beside = find_in_assignments("GFX=10.3.0\n").places;
  EXPECT_EQ(expand_value("10.3.0", {}), "10.3.0");
  EXPECT_EQ(expand_value("${GFX:-1}", {}), "1");
  EXPECT_EQ(expand_value("${GFX-1}", beside), "10.3.0");
  EXPECT_EQ(expand_value("$GFX", beside), "10.3.0");
  EXPECT_EQ(expand_value("$GFX", {}), std::nullopt);
  EXPECT_EQ(expand_value("${GFX:-$B}", {}), std::nullopt);
  EXPECT_EQ(expand_value("1$GFX", beside), std::nullopt);
}

}  // namespace
}  // namespace headroom::plan
