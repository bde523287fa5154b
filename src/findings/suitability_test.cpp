// SPDX-License-Identifier: Apache-2.0
#include "findings/suitability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "findings/diagnosis.h"

namespace headroom::findings {
namespace {

using facts::Source;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const knowledge::GpuTables& tables() {
  static const knowledge::GpuTables loaded = *knowledge::load_gpu_tables();
  return loaded;
}

template <class T>
facts::Fact<T> known(T value) {
  return {std::move(value), Source{"/made/up", 1, ""}};
}

facts::Gpu gpu(const std::string& gfx, const std::string& pci = "0000:03:00.0") {
  facts::Gpu made;
  made.pci = pci;
  made.name = "AMD " + gfx;
  made.gfx = known(gfx);
  made.kfd_id = known<std::uint64_t>(7);
  const auto* target = tables().target(gfx);
  made.integrated = known(target->kind == knowledge::Kind::integrated);
  made.support = known(knowledge::support_of(*target));
  return made;
}

facts::Facts machine(std::vector<facts::Gpu> gpus, const std::string& kernel = "6.18.9") {
  facts::Facts made;
  made.machine.kernel = known(kernel);
  made.kfd_present = known(true);
  made.gpus = std::move(gpus);
  return made;
}

Suitability assess_first(const facts::Facts& facts) {
  return *assess({facts, tables()}, facts.gpus.front());
}

Suitability of(const std::string& gfx) {
  return assess_first(machine({gpu(gfx)}));
}

TEST(Suitability, follows_from_what_carries_the_target) {
  struct Case {
    const char* gfx;
    Level level;
    StackRoute route;
  };
  for (const Case& one : {Case{"gfx1100", Level::stable, StackRoute::official},
                          Case{"gfx1152", Level::stable, StackRoute::official},
                          Case{"gfx906", Level::stable, StackRoute::old_stack},
                          Case{"gfx803", Level::attempt, StackRoute::old_stack},
                          Case{"gfx1031", Level::attempt, StackRoute::community},
                          Case{"gfx904", Level::attempt, StackRoute::override},
                          Case{"gfx90c", Level::no, StackRoute::none}}) {
    const Suitability answer = of(one.gfx);
    EXPECT_EQ(answer.level, one.level) << one.gfx;
    EXPECT_EQ(answer.route, one.route) << one.gfx;
    EXPECT_FALSE(answer.reasons.empty()) << one.gfx;
    EXPECT_FALSE(answer.sources.empty()) << one.gfx;
    EXPECT_THAT(answer.decides.whole(), HasSubstr("python3 -c")) << one.gfx;
    EXPECT_EQ(answer.instead.empty(), one.level == Level::stable) << one.gfx;
    EXPECT_EQ(answer.install.empty(), one.level == Level::no) << one.gfx;
  }
}

TEST(Suitability, every_target_gets_an_answer) {
  for (const auto& [gfx, target] : tables().targets) {
    const Suitability answer = of(gfx);
    EXPECT_FALSE(answer.summary.empty() || answer.decides.text.empty()) << gfx;
    EXPECT_EQ(answer.level == Level::no, *gpu(gfx).support == knowledge::Support::unsupported)
        << gfx;
  }
}

TEST(Suitability, shared_memory_is_never_the_reason) {
  EXPECT_EQ(of("gfx1151").level, Level::stable);
  facts::Gpu apu = gpu("gfx942");
  apu.integrated = known(true);
  EXPECT_EQ(assess_first(machine({apu})).level, Level::stable);
  EXPECT_THAT(of("gfx90c").reasons, Contains(HasSubstr("The reason is not that it is integrated")));
}

TEST(Suitability, the_trap_is_said_calmly_with_its_test) {
  const Suitability cezanne = of("gfx90c");
  ASSERT_TRUE(cezanne.override.has_value());
  EXPECT_EQ(cezanne.override->value, "9.0.0");
  EXPECT_THAT(cezanne.remark, HasSubstr("no one tests that"));
  EXPECT_THAT(cezanne.decides.whole(), HasSubstr("HSA_OVERRIDE_GFX_VERSION=9.0.0 python3"));
  EXPECT_THAT(cezanne.decides.whole(), HasSubstr("gfx900"));
  EXPECT_THAT(texts_of(cezanne.instead), Contains(HasSubstr("Vulkan")));
}

TEST(Suitability, dangerous_overrides_are_never_advised) {
  EXPECT_FALSE(of("gfx1102").override.has_value());
  EXPECT_FALSE(of("gfx1150").override.has_value());
  EXPECT_FALSE(of("gfx1200").override.has_value());
  EXPECT_EQ(of("gfx1103").override->value, "11.0.2");
}

TEST(Suitability, another_gpu_of_the_machine_comes_first) {
  const auto facts = machine({gpu("gfx902", "0000:0b:00.0"), gpu("gfx1102")});
  const Suitability vega = assess_first(facts);
  EXPECT_THAT(vega.instead.front().whole(), HasSubstr("AMD gfx1102"));
  EXPECT_THAT(vega.remark, HasSubstr("Use AMD gfx1102 instead"));
}

TEST(Suitability, a_kernel_without_what_it_needs_lowers_it) {
  EXPECT_EQ(assess_first(machine({gpu("gfx1151")}, "6.17.9")).level, Level::attempt);
  const Suitability unknown = assess_first(machine({gpu("gfx1151")}, "6.17.9-300.fc43.x86_64"));
  EXPECT_EQ(unknown.level, Level::stable) << "that it cannot be told speaks for nothing";
  EXPECT_THAT(unknown.reasons, Contains(HasSubstr("cannot tell")));
  EXPECT_EQ(assess_first(machine({gpu("gfx1100")}, "6.1.0")).level, Level::stable);
}

TEST(Suitability, bad_firmware_lowers_it_and_comes_first_among_the_steps) {
  facts::Gpu halo = gpu("gfx1151");
  halo.firmware.versions["mes"] = known<std::uint64_t>(0x83);
  const Suitability answer = assess_first(machine({halo}));
  EXPECT_EQ(answer.level, Level::attempt);
  EXPECT_THAT(answer.install.front().whole(), HasSubstr("linux-firmware"));
  EXPECT_EQ(answer.origin.certainty, knowledge::Certainty::measured);
  halo.firmware.versions["mes"] = known<std::uint64_t>(0x84);
  EXPECT_EQ(assess_first(machine({halo})).level, Level::stable);
}

TEST(Suitability, a_parameter_that_avoids_the_trouble_counts) {
  facts::Gpu halo = gpu("gfx1151");
  halo.firmware.versions["mes"] = known<std::uint64_t>(0x80);
  auto facts = machine({halo}, "6.17.9");
  EXPECT_THAT(assess_first(facts).reasons, Contains(HasSubstr("compute waves")));
  facts.machine.options = {{"amdgpu", "cwsr_enable", "0", Source{"/proc/cmdline", 1, ""}}};
  EXPECT_THAT(assess_first(facts).reasons, Not(Contains(HasSubstr("compute waves"))));
}

TEST(Suitability, what_the_installed_wheel_holds_counts) {
  auto facts = machine({gpu("gfx1031")});
  facts.python.torch.version = known<std::string>("2.14.1+rocm10.0");
  facts.python.torch.kind = known(facts::TorchKind::rocm);
  facts.python.torch.targets = known(std::vector<std::string>{"gfx1030", "gfx1100"});
  EXPECT_THAT(assess_first(facts).reasons, Contains(HasSubstr("contains no code for gfx1031")));
  facts.python.torch.targets = known(std::vector<std::string>{"gfx10-3-generic"});
  EXPECT_THAT(assess_first(facts).reasons, Contains(HasSubstr("contains code for gfx1031")));
  facts.gpus = {gpu("gfx90c")};
  EXPECT_EQ(assess_first(facts).level, Level::no);
  facts.python.torch.targets = known(std::vector<std::string>{"gfx90c"});
  EXPECT_EQ(assess_first(facts).level, Level::attempt) << "a build of one's own";
}

TEST(Suitability, an_override_in_force_counts) {
  auto facts = machine({gpu("gfx1103")});
  facts::Setting setting;
  setting.name = "HSA_OVERRIDE_GFX_VERSION";
  setting.value = "11.0.0";
  setting.source = {"/etc/environment", 1, ""};
  setting.scope = facts::Scope::environment_file;
  facts.environment.settings = {setting};
  const Suitability answer = assess_first(facts);
  EXPECT_EQ(answer.level, Level::attempt);
  EXPECT_THAT(answer.reasons, Contains(HasSubstr("registers")));
  EXPECT_THAT(answer.install.front().whole(), HasSubstr("/etc/environment"));
}

TEST(Suitability, what_the_compute_driver_skipped_is_not_usable) {
  facts::Gpu card = gpu("gfx1102");
  card.driver = known<std::string>("amdgpu");
  card.kfd_id = {facts::Missing{facts::Why::not_present, ""}, Source{}};
  EXPECT_EQ(assess_first(machine({card})).level, Level::no);
  card.kfd_id = {facts::Missing{facts::Why::no_permission, ""}, Source{}};
  EXPECT_EQ(assess_first(machine({card})).level, Level::stable);
}

TEST(Suitability, of_an_unknown_target_nothing_is_said) {
  facts::Gpu unknown;
  const auto facts = machine({unknown});
  EXPECT_FALSE(assess({facts, tables()}, facts.gpus.front()).has_value());
}

TEST(Advisories, that_a_kernel_cannot_be_told_is_information) {
  const auto findings_of = [](const std::string& kernel) {
    const auto facts = machine({gpu("gfx1151")}, kernel);
    return known_bad_kernel_rule.find({facts, tables()});
  };
  EXPECT_THAT(findings_of("6.18.4"), IsEmpty());
  ASSERT_EQ(findings_of("6.17.9").size(), 1U);
  EXPECT_EQ(findings_of("6.17.9").front().severity, Severity::warning);
  ASSERT_EQ(findings_of("6.17.9-300.fc43.x86_64").size(), 1U);
  EXPECT_EQ(findings_of("6.17.9-300.fc43.x86_64").front().severity, Severity::info);
}

TEST(Advisories, a_release_that_needs_the_change_breaks_without_it) {
  auto facts = machine({gpu("gfx1151")}, "6.17.9");
  facts.machine.rocm = known<std::string>("7.2.0-43");
  const auto found = known_bad_kernel_rule.find({facts, tables()});
  ASSERT_EQ(found.size(), 1U) << "the milder word on the same change is not said beside it";
  EXPECT_EQ(found.front().id, "kernel-too-old");
  facts.machine.rocm = known<std::string>("7.2.1-81");
  EXPECT_EQ(known_bad_kernel_rule.find({facts, tables()}).front().id, "known-bad-kernel");
}

TEST(Advisories, on_ubuntu_the_step_is_the_package_of_the_flavour_that_runs) {
  const auto step_on = [](const std::string& distribution, const std::string& kernel) {
    auto facts = machine({gpu("gfx1151")}, kernel);
    facts.machine.distribution = known<std::string>(distribution);
    return known_bad_kernel_rule.find({facts, tables()}).front().fix.front();
  };
  const Step generic = step_on("Ubuntu 24.04.4 LTS", "6.17.0-14-generic");
  EXPECT_EQ(generic.run, "sudo apt install linux-generic-hwe-24.04");
  EXPECT_THAT(generic.text, HasSubstr("6.17.0-19.19~24.04.2 or later"));
  EXPECT_EQ(step_on("Ubuntu 24.04.4 LTS", "6.14.0-1005-oem").run,
            "sudo apt install linux-oem-24.04");
  EXPECT_EQ(step_on("Ubuntu 22.04.5 LTS", "6.8.0-60-generic").run, "");
  EXPECT_EQ(step_on("Arch Linux", "6.17.9").run, "");
}

}  // namespace
}  // namespace headroom::findings
