// SPDX-License-Identifier: Apache-2.0
// How findings become one answer, and the commands that answers give. What each rule says of whole
// machines is tested in tests/check.
#include "findings/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "findings/advice.h"
#include "findings/memory_use.h"

namespace headroom::findings {
namespace {

using namespace literals;
using facts::Fact;
using facts::Source;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const knowledge::GpuTables& tables() {
  static const knowledge::GpuTables loaded = *knowledge::load_gpu_tables();
  return loaded;
}

template <class T>
Fact<T> known(T value) {
  return {std::move(value), Source{"/file", 1, "text"}};
}

facts::Gpu card(const char* pci, Bytes used, const char* gfx = "gfx1100") {
  facts::Gpu gpu;
  gpu.pci = pci;
  gpu.name = "AMD Card";
  gpu.device = known(std::uint64_t{0x744c});
  gpu.gfx = known(std::string(gfx));
  gpu.integrated = known(false);
  gpu.support = known(knowledge::support_of(*tables().target(gfx)));
  gpu.kfd_id = known(std::uint64_t{1});
  gpu.driver = known(std::string("amdgpu"));
  gpu.vram_total = known(20_GiB);
  gpu.vram_used = known(used);
  gpu.gtt_used = known(0_B);
  gpu.pool = known(20_GiB);
  return gpu;
}

Diagnosis diagnose_cards(std::vector<facts::Gpu> gpus) {
  facts::Facts facts;
  facts.looked = known(true);
  facts.kfd_present = known(true);
  facts.machine.kernel = known(std::string("6.14.0-37-generic"));
  facts.gpus = std::move(gpus);
  for (facts::Gpu& gpu : facts.gpus) gpu.ladder = make_ladder(gpu, facts.machine);
  return diagnose({facts, tables()});
}

TEST(Diagnosis, an_empty_card_is_ok) {
  const auto diagnosis = diagnose_cards({card("a", 100_MiB)});
  EXPECT_EQ(diagnosis.verdict, Verdict::ok);
  EXPECT_FALSE(diagnosis.cause.has_value());
  EXPECT_EQ(exit_code(diagnosis), 0);
}

TEST(Diagnosis, one_card_that_works_leaves_a_machine_limited) {
  EXPECT_EQ(diagnose_cards({card("a", 19_GiB)}).verdict, Verdict::broken);
  const auto mixed = diagnose_cards({card("a", 19_GiB), card("b", 0_B)});
  EXPECT_EQ(mixed.verdict, Verdict::limited);
  EXPECT_EQ(mixed.cause->id, "vram-held-by-other");
  EXPECT_EQ(exit_code(mixed), 1);
}

TEST(Diagnosis, the_same_cause_on_two_cards_is_one_cause_with_all_evidence) {
  const auto diagnosis = diagnose_cards({card("a", 19_GiB), card("b", 19_GiB)});
  EXPECT_EQ(diagnosis.verdict, Verdict::broken);
  EXPECT_EQ(diagnosis.cause->gpus, (std::vector<std::string>{"a", "b"}));
  EXPECT_THAT(diagnosis.cause->title, HasSubstr("1 more GPU"));
}

facts::Holder holder(std::uint64_t pid, const char* command, Bytes vram) {
  facts::Holder one;
  one.pid = pid;
  one.command = command;
  one.vram = vram;
  return one;
}

TEST(Diagnosis, a_job_may_be_ended_for_its_memory_and_a_desktop_may_not) {
  facts::Gpu full = card("a", 19_GiB);
  full.holders = {holder(4127, "python3", 16_GiB), holder(1893, "gnome-shell", 3_GiB)};
  const auto diagnosis = diagnose_cards({full});
  ASSERT_TRUE(diagnosis.cause.has_value());
  const std::string steps = join(texts_of(diagnosis.cause->fix), "\n");
  EXPECT_THAT(steps, HasSubstr("kill 4127"));
  EXPECT_THAT(steps, HasSubstr("gnome-shell (PID 1893) draws the desktop"));
  EXPECT_THAT(steps, Not(HasSubstr("kill 1893")));
}

TEST(Diagnosis, a_broken_card_outweighs_a_dropped_target) {
  const auto diagnosis = diagnose_cards({card("a", 19_GiB, "gfx906")});
  EXPECT_EQ(diagnosis.cause->id, "vram-held-by-other");
  ASSERT_FALSE(diagnosis.runners_up.empty());
  EXPECT_TRUE(std::any_of(diagnosis.runners_up.begin(), diagnosis.runners_up.end(),
                          [](const Alternative& one) { return one.id == "gfx-target-dropped"; }));
}

TEST(Diagnosis, cause_and_rivals_are_shares_of_one_whole) {
  const auto diagnosis = diagnose_cards({card("a", 100_MiB, "gfx906"), card("b", 20_GiB - 50_MiB)});
  ASSERT_FALSE(diagnosis.runners_up.empty());
  double sum = diagnosis.cause->confidence;
  for (const Alternative& one : diagnosis.runners_up) sum += one.confidence;
  EXPECT_LE(sum, 1 + 1e-9);
}

TEST(Diagnosis, an_unsupported_gpu_beside_a_usable_one_decides_nothing) {
  const auto diagnosis = diagnose_cards({card("a", 0_B, "gfx802"), card("b", 0_B)});
  EXPECT_EQ(diagnosis.verdict, Verdict::ok);
  EXPECT_FALSE(diagnosis.cause.has_value());
  for (const Finding& finding : diagnosis.findings) EXPECT_EQ(finding.severity, Severity::info);
}

TEST(Diagnosis, not_having_looked_is_not_no_gpu) {
  facts::Facts facts;
  EXPECT_EQ(diagnose({facts, tables()}).verdict, Verdict::unknown);
  EXPECT_EQ(exit_code(diagnose({facts, tables()})), 3);
  facts.looked = known(true);
  EXPECT_EQ(diagnose({facts, tables()}).verdict, Verdict::no_gpu);
  EXPECT_EQ(exit_code(diagnose({facts, tables()})), 0);
}

TEST(MemoryUse, the_system_keeps_8_gib_or_a_quarter) {
  EXPECT_EQ(advised_gpu_limit(Bytes{134299025408}), 117_GiB);
  EXPECT_EQ(advised_gpu_limit(16_GiB), 12_GiB);
  EXPECT_EQ(advised_gpu_limit({}), 0_B);
}

facts::MachineFacts on(const char* ids) {
  facts::MachineFacts machine;
  machine.distribution_id = known(std::string(ids));
  return machine;
}

TEST(Advice, the_commands_are_the_distributions_own) {
  const auto first = [](const facts::MachineFacts& machine) {
    return steps_to_set(machine, "ttm", {{"pages_limit", "5"}}).front().text;
  };
  EXPECT_THAT(first(on("fedora")), HasSubstr("grubby --update-kernel=ALL"));
  EXPECT_THAT(first(on("rhel fedora")), HasSubstr("grubby"));
  EXPECT_THAT(first(on("ubuntu debian")), HasSubstr("/etc/modprobe.d/"));
  EXPECT_THAT(first(on("nixos")), HasSubstr("boot.kernelParams"));
  EXPECT_THAT(first(on("bazzite fedora")), HasSubstr("rpm-ostree"));
  EXPECT_THAT(first(on("steamos arch")), HasSubstr("kernel command line"));
  EXPECT_THAT(first(facts::MachineFacts{}), HasSubstr("ttm.pages_limit=5"));
}

TEST(Advice, a_setting_on_the_command_line_is_changed_there_because_it_wins) {
  facts::MachineFacts machine = on("debian");
  machine.options = {{"ttm", "pages_limit", "1", {"/proc/cmdline", 1, "ttm.pages_limit=1"}}};
  const auto steps = steps_to_set(machine, "ttm", {{"pages_limit", "5"}});
  EXPECT_THAT(steps[0].text, HasSubstr("kernel command line"));
  EXPECT_EQ(steps[0].run, "sudo update-grub");
  EXPECT_EQ(steps[1], command("sudo reboot"));
}

TEST(Advice, a_setting_in_two_places_is_taken_out_of_both_and_the_initramfs_made_once) {
  facts::MachineFacts machine = on("debian");
  machine.options = {{"amdgpu", "gttsize", "9", {"/proc/cmdline", 1, "amdgpu.gttsize=9"}},
                     {"amdgpu", "gttsize", "8", {"/etc/modprobe.d/a.conf", 3, ""}}};
  const auto texts =
      texts_of(steps_to_set(machine, "ttm", {{"pages_limit", "5"}}, {{"amdgpu", "gttsize"}}));
  ASSERT_EQ(texts.size(), 6U);
  EXPECT_THAT(texts[0], AllOf(HasSubstr("printf '\\noptions ttm pages_limit=5\\n'"),
                              HasSubstr("tee -a /etc/modprobe.d/headroom.conf")));
  EXPECT_THAT(texts[1], HasSubstr("sudo update-grub"));
  EXPECT_EQ(texts[2], "Remove gttsize=8 from /etc/modprobe.d/a.conf (line 3)");
  EXPECT_EQ(texts[3], "sudo update-initramfs -u -k all");
  EXPECT_EQ(texts[4], "sudo reboot");
}

TEST(Advice, what_a_file_says_already_only_needs_the_initramfs) {
  facts::MachineFacts machine = on("debian");
  machine.options = {{"ttm", "pages_limit", "5", {"/etc/modprobe.d/headroom.conf", 1, ""}}};
  EXPECT_EQ(steps_to_set(machine, "ttm", {{"pages_limit", "5"}}).front(),
            command("sudo update-initramfs -u -k all"));
}

TEST(Advice, nixos_takes_a_setting_out_of_its_own_configuration) {
  const auto step = steps_to_drop(on("nixos"), "amdgpu", "gttsize").front();
  EXPECT_THAT(step.text, HasSubstr("boot.kernelParams"));
  EXPECT_EQ(step.run, "sudo nixos-rebuild boot");
}

TEST(Advice, from_a_container_the_steps_are_for_the_host) {
  facts::MachineFacts machine = on("debian");
  machine.container = known(std::string("docker"));
  const auto steps = steps_to_set(machine, "ttm", {{"pages_limit", "5"}});
  for (std::size_t i = 0; i + 1 < steps.size(); ++i)
    EXPECT_THAT(steps[i].text, HasSubstr("On the host"));
  EXPECT_TRUE(steps.back().is_look());
  EXPECT_EQ(steps.back().text, "headroom check");
}

}  // namespace
}  // namespace headroom::findings
