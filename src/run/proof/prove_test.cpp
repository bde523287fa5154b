// SPDX-License-Identifier: Apache-2.0
// A shell script stands for Python: what it writes and how it ends is what is judged.
#include "run/proof/prove.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "machine/clock.h"

namespace headroom::run {
namespace {

using testing::HasSubstr;

constexpr const char* begin_of_script = R"(#!/bin/sh
say() { printf '\nheadroom-step: %s\n' "$1"; }
if [ "$3" = frameworks ]; then say "{\"frameworks\": [$FRAMEWORKS]}"; exit 0; fi
say '{"begin": "import"}'; say '{"step": "import", "ok": true}'
steps=$(echo "$6" | tr , ' ')
if [ "$3$4" = "devices$BLIND" ]; then DEVICES=; fi
if [ "$3" = devices ]; then say "{\"devices\": [$DEVICES], \"version\": \"9.9\"}"; exit 0; fi
)";

class Prove : public testing::Test {
 protected:
  Prove() {
    folder_ = testing::TempDir() + "headroom-prove-" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
    facts_.python.torch_folder = "/lib/torch";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static facts::Gpu make_gpu() {
    facts::Gpu gpu;
    gpu.pci = "0000:03:00.0";
    gpu.name = "a card";
    gpu.kfd_id = {std::uint64_t{7}, facts::Source{"test", 1, ""}};
    gpu.integrated = {false, facts::Source{"test", 1, ""}};
    return gpu;
  }

  // `body` runs once for each process of steps; $steps are those that are left.
  proof::ProofReport prove(const std::string& body, const std::string& devices) {
    const std::string python = folder_ + "/python";
    std::ofstream(python) << begin_of_script << body;
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    const StepHost host{
        .python = python,
        .command = {python, "-B", folder_},
        .environment = {"PATH=/usr/bin:/bin", "DEVICES=" + devices, "FOLDER=" + folder_,
                        "FRAMEWORKS=" + frameworks_, "BLIND=jax"},
        .steps = {"softmax", "attention", "rate", "bandwidth"},
        .training_steps = 1,
        .limit = std::chrono::seconds(4),
        .facts = facts_,
        .diagnosis = diagnosis_,
        .tables = tables_,
        .rules = rules_,
        .kernel = nullptr,
        .on_step = {}};
    auto report = run::prove(host);
    EXPECT_TRUE(report);
    return report ? *report : proof::ProofReport{};
  }

  static const proof::StepResult& step(const proof::ProofReport& report, const std::string& name) {
    for (const proof::StepResult& one : report.devices.at(0).steps) {
      if (one.name == name) return one;
    }
    throw std::out_of_range(name);
  }

  std::string folder_;
  std::string frameworks_ = "\"torch\"";
  facts::Facts facts_;
  findings::Diagnosis diagnosis_;
  knowledge::GpuTables tables_;
  LogRules rules_;
};

constexpr const char* pass_all = R"(
for step in $steps; do say "{\"begin\": \"$step\"}"; say "{\"step\": \"$step\", \"ok\": true}"; done
)";
constexpr const char* one_card = R"({"device": "cuda:0", "name": "card", "pci": "0000:03:00.0"})";

TEST_F(Prove, gpu_that_is_not_seen_has_the_machines_cause) {
  facts_.gpus = {make_gpu()};
  diagnosis_.cause = findings::Cause{"wrong-wheel", "It is built for CUDA.", 0.95, {}, {}, {}, {}};
  const auto report = prove(pass_all, "");
  ASSERT_EQ(report.devices.size(), 1);
  EXPECT_EQ(report.devices[0].device, "0000:03:00.0");
  EXPECT_EQ(step(report, "import").ok, false);
  EXPECT_EQ(step(report, "import").cause->id, "wrong-wheel");
  EXPECT_EQ(step(report, "softmax").ok, std::nullopt);
}

TEST_F(Prove, each_framework_is_tested_on_its_own) {
  facts_.gpus = {make_gpu()};
  frameworks_ = "\"onnxruntime\", \"torch\", \"another\"";
  const auto report = prove(pass_all, one_card);
  ASSERT_EQ(report.devices.size(), 2);
  EXPECT_EQ(report.devices[0].framework, "PyTorch 9.9");
  EXPECT_EQ(report.devices[1].framework, "onnxruntime 9.9");
  EXPECT_EQ(report.devices[0].device, report.devices[1].device);
}

TEST_F(Prove, framework_beside_pytorch_that_sees_no_gpu_is_a_remark) {
  facts_.gpus = {make_gpu()};
  frameworks_ = "\"torch\", \"jax\"";
  const auto report = prove(pass_all, one_card);
  EXPECT_EQ(report.devices.size(), 1);
  EXPECT_FALSE(has_failure(report));
  ASSERT_EQ(report.remarks.size(), 1);
  EXPECT_EQ(report.remarks[0], "JAX 9.9 sees no GPU, and was not tested");
}

TEST_F(Prove, only_framework_must_see_the_gpu) {
  facts_.gpus = {make_gpu()};
  facts_.python.torch_folder.clear();
  frameworks_ = "\"jax\"";
  const auto report = prove(pass_all, one_card);
  ASSERT_EQ(report.devices.size(), 1);
  EXPECT_EQ(report.devices[0].device, "0000:03:00.0");
  EXPECT_EQ(step(report, "import").ok, false);
}

TEST_F(Prove, gpu_beside_those_that_are_seen_is_a_remark) {
  facts_.gpus = {make_gpu(), make_gpu()};
  facts_.gpus[1].pci = "0000:07:00.0";
  const auto report = prove(pass_all, one_card);
  EXPECT_FALSE(has_failure(report));
  ASSERT_EQ(report.remarks.size(), 1);
  EXPECT_THAT(report.remarks[0], HasSubstr("0000:07:00.0"));
}

TEST_F(Prove, step_that_dies_has_failed_and_those_after_it_are_done) {
  const auto report = prove(R"(
for step in $steps; do
  say "{\"begin\": \"$step\"}"
  if [ $step = attention ]; then echo 'ValueError: no' >&2; kill -SEGV $$; fi
  say "{\"step\": \"$step\", \"ok\": true}"
done)",
                            one_card);
  EXPECT_EQ(step(report, "attention").ok, false);
  EXPECT_THAT(step(report, "attention").detail, HasSubstr("SIGSEGV"));
  EXPECT_THAT(step(report, "attention").detail, HasSubstr("ValueError: no"));
  for (const char* name : {"import", "softmax", "rate", "bandwidth"})
    EXPECT_EQ(step(report, name).ok, true) << name;
}

TEST_F(Prove, after_two_that_hang_the_others_are_skipped) {
  const auto report = prove(R"(
for step in $steps; do say "{\"begin\": \"$step\"}"; sleep 1000; done)",
                            one_card);
  EXPECT_EQ(step(report, "softmax").cause->id, "gpu-hang");
  EXPECT_EQ(step(report, "attention").ok, false);
  EXPECT_EQ(step(report, "rate").ok, std::nullopt);
  EXPECT_THAT(step(report, "rate").detail, HasSubstr("2 steps before it hung"));
}

TEST_F(Prove, progress_is_no_hang) {
  const auto report = prove(R"(
for step in $steps; do
  say "{\"begin\": \"$step\"}"; sleep 1; say "{\"step\": \"$step\", \"ok\": true}"
done)",
                            one_card);
  EXPECT_FALSE(has_failure(report));
}

TEST_F(Prove, what_a_step_started_does_not_outlive_it) {
  const auto report = prove(std::string(R"(
setsid sleep 1000 > /dev/null 2>&1 &
echo $! > $FOLDER/pid
)") + pass_all,
                            one_card);
  EXPECT_FALSE(has_failure(report));
  pid_t child = 0;
  std::ifstream(folder_ + "/pid") >> child;
  ASSERT_GT(child, 0);
  for (int i = 0; i < 100 && kill(child, 0) == 0; ++i) machine::sleep_ms(20);
  EXPECT_NE(kill(child, 0), 0);
}

TEST_F(Prove, result_that_does_not_arrive_is_no_success) {
  const auto report = prove("say '{\"begin\": \"softmax\"}'\n", one_card);
  EXPECT_EQ(step(report, "softmax").ok, std::nullopt);
  EXPECT_THAT(step(report, "softmax").detail, HasSubstr("did not arrive"));
}

TEST_F(Prove, python_that_cannot_name_its_devices_fails_the_import) {
  facts_.gpus = {make_gpu()};
  const auto report = prove(pass_all, "{");
  EXPECT_EQ(report.devices[0].device, "0000:03:00.0");
  EXPECT_EQ(step(report, "import").ok, false);
}

TEST_F(Prove, process_that_dies_between_steps_fails_the_next) {
  const auto report = prove(R"(
if [ -e $FOLDER/again ]; then exit 1; fi
touch $FOLDER/again
say '{"begin": "softmax"}'; kill -ABRT $$)",
                            one_card);
  EXPECT_EQ(step(report, "softmax").ok, false);
  EXPECT_EQ(step(report, "attention").ok, false);  // It ended without a word between the two.
}

}  // namespace
}  // namespace headroom::run
