// SPDX-License-Identifier: Apache-2.0
// How one answer is chosen, with rules made for the test, and the three answers that are no cause,
// over the whole road.
#include "findings/log_diagnosis.h"

#include <gmock/gmock.h>

#include "findings/causes/causes.h"
#include "findings/causes/missing_evidence.h"
#include "findings/causes/telltale.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using ::testing::Contains;
using testing::diagnose;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Says `percent` where the log has a Python exception of this type, and shows that line.
template <int percent, char letter>
std::optional<Hypothesis> find_type(const LogSubject& subject) {
  for (const logs::Observation* one : subject.log.of("python-exception")) {
    if (one->value("type").front() != letter) continue;
    Hypothesis found;
    found.confidence = percent / 100.0;
    found.title = "made for the test";
    found.evidence.push_back(show(subject, *one));
    return found;
  }
  return std::nullopt;
}

CauseRule rule(std::string_view id, std::string_view explains,
               std::optional<Hypothesis> (*find)(const LogSubject&)) {
  CauseRule made;
  made.id = id;
  made.explains = explains;
  made.find = find;
  return made;
}

LogDiagnosis choose_among(std::string_view log, const std::vector<CauseRule>& rules,
                          std::string_view stated = R"({"vendor": "AMD"})") {
  logs::Observations observations;
  logs::LogReader reader(testing::tables().matcher, observations, 0, "job.log");
  reader.feed(log);
  reader.finish();
  const auto facts = facts::parse_stated(stated, "stated.json");
  EXPECT_TRUE(facts.has_value());
  const std::vector<std::string> names = {"job.log"};
  const Scene scene = make_scene(observations, *facts, nullptr, testing::tables().gpus);
  std::vector<const CauseRule*> pointers;
  for (const CauseRule& one : rules) pointers.push_back(&one);
  return diagnose_logs({observations, scene, testing::tables().gpus, names}, pointers);
}

constexpr std::string_view two_errors =
    "AError: first\n"
    "BError: second\n";

TEST(Choice, the_surest_is_the_answer) {
  const auto got = choose_among(two_errors, {rule("gpu-hang", "", find_type<50, 'A'>),
                                             rule("job-too-big", "", find_type<80, 'B'>)});
  EXPECT_EQ(got.cause.id, "job-too-big");
}

TEST(Choice, of_equals_the_one_that_shows_first_is_the_answer) {
  const auto got = choose_among(two_errors, {rule("gpu-hang", "", find_type<80, 'B'>),
                                             rule("job-too-big", "", find_type<80, 'A'>)});
  EXPECT_EQ(got.cause.id, "job-too-big");
}

TEST(Choice, what_another_one_explains_is_its_consequence) {
  const auto got = choose_among(two_errors, {rule("gpu-hang", "", find_type<90, 'A'>),
                                             rule("firmware-bad", "gpu-hang", find_type<70, 'B'>)});
  EXPECT_EQ(got.cause.id, "firmware-bad");
  ASSERT_THAT(got.consequences, SizeIs(1));
  EXPECT_EQ(got.consequences.front().id, "gpu-hang");
}

TEST(Choice, a_guess_does_not_explain_away_what_is_plain) {
  const auto got = choose_among(two_errors, {rule("gpu-hang", "", find_type<90, 'A'>),
                                             rule("firmware-bad", "gpu-hang", find_type<50, 'B'>)});
  EXPECT_EQ(got.cause.id, "gpu-hang");
}

TEST(Choice, what_is_too_unsure_to_be_an_answer_explains_nothing) {
  const auto got = choose_among(two_errors, {rule("gpu-hang", "", find_type<50, 'A'>),
                                             rule("firmware-bad", "gpu-hang", find_type<31, 'B'>)});
  EXPECT_EQ(got.cause.id, "gpu-hang");
}

TEST(Choice, of_two_that_explain_each_other_the_surer_one_is_the_cause) {
  const auto got = choose_among(two_errors, {rule("gpu-hang", "firmware-bad", find_type<90, 'A'>),
                                             rule("firmware-bad", "gpu-hang", find_type<80, 'B'>)});
  EXPECT_EQ(got.cause.id, "gpu-hang");
}

TEST(Choice, explanations_reach_over_several_steps) {
  const auto got = choose_among(
      "AError: x\nBError: y\nCError: z\n",
      {rule("app-bug", "", find_type<80, 'A'>), rule("gpu-hang", "app-bug", find_type<90, 'B'>),
       rule("firmware-bad", "gpu-hang", find_type<70, 'C'>)});
  EXPECT_EQ(got.cause.id, "firmware-bad");
  EXPECT_THAT(got.consequences, SizeIs(2));
}

TEST(Choice, a_rival_that_is_as_sure_casts_doubt) {
  const auto alone = choose_among(two_errors, {rule("gpu-hang", "", find_type<80, 'A'>)});
  const auto rivalled = choose_among(two_errors, {rule("gpu-hang", "", find_type<80, 'A'>),
                                                  rule("hw-error", "", find_type<80, 'B'>)});
  EXPECT_DOUBLE_EQ(alone.cause.confidence, 0.8);
  EXPECT_LT(rivalled.cause.confidence, 0.55);
}

TEST(Choice, two_readings_of_one_line_are_no_rivals) {
  const auto got = choose_among(two_errors, {rule("gpu-hang", "", find_type<80, 'A'>),
                                             rule("app-bug", "", find_type<60, 'A'>)});
  EXPECT_DOUBLE_EQ(got.cause.confidence, 0.8);
}

TEST(Choice, runners_up_carry_what_would_tell) {
  const auto got = choose_among(two_errors, {rule("gpu-hang", "", find_type<80, 'A'>),
                                             rule("hw-error", "", find_type<60, 'B'>)});
  ASSERT_THAT(got.runners_up, SizeIs(1));
  EXPECT_EQ(got.runners_up.front().id, "hw-error");
  EXPECT_THAT(got.runners_up.front().would_tell, HasSubstr("dmesg"));
}

TEST(Choice, every_rule_has_a_telltale) {
  for (const CauseRule* one : cause_rules()) EXPECT_NE(telltale(one->id), "") << one->id;
}

std::string chained(std::string_view first, std::string_view joint, std::string_view second) {
  return "Traceback (most recent call last):\n" + std::string(first) + "\n\n" + std::string(joint) +
         "\n\nTraceback (most recent call last):\n" + std::string(second) + "\n";
}
constexpr std::string_view direct =
    "The above exception was the direct cause of the following exception:";
constexpr std::string_view handling =
    "During handling of the above exception, another exception occurred:";

TEST(Choice, the_first_of_chained_exceptions_is_the_root) {
  const std::vector<CauseRule> rules = {rule("gpu-hang", "", find_type<70, 'A'>),
                                        rule("app-bug", "", find_type<80, 'B'>)};
  for (const std::string_view joint : {direct, handling}) {
    const auto got = choose_among(chained("AError: x", joint, "BError: y"), rules);
    EXPECT_EQ(got.cause.id, "gpu-hang") << joint;
    EXPECT_THAT(got.consequences, SizeIs(1)) << joint;
  }
  const auto apart = choose_among(chained("AError: x", "next try", "BError: y"), rules);
  EXPECT_EQ(apart.cause.id, "app-bug");
}

TEST(Choice, what_programs_catch_in_the_ordinary_course_is_no_root) {
  const std::vector<CauseRule> rules = {rule("app-bug", "", find_type<50, 'K'>),
                                        rule("job-too-big", "", find_type<75, 'B'>)};
  const auto got = choose_among(chained("KeyError: 'cache'", handling, "BError: y"), rules);
  EXPECT_EQ(got.cause.id, "job-too-big");
  const auto raised_from = choose_among(chained("KeyError: 'cache'", direct, "BError: y"), rules);
  EXPECT_EQ(raised_from.cause.id, "app-bug");
}

TEST(Choice, on_a_foreign_machine_only_rules_for_any_vendor_answer) {
  CauseRule any = rule("disk-full", "", find_type<70, 'A'>);
  any.any_vendor = true;
  const CauseRule amd = rule("gpu-hang", "", find_type<90, 'B'>);
  constexpr std::string_view nvidia = R"({"vendor": "NVIDIA"})";
  EXPECT_EQ(choose_among(two_errors, {any, amd}, nvidia).cause.id, "disk-full");
  EXPECT_EQ(choose_among(two_errors, {amd}, nvidia).cause.id, "not-amd-gpu");
}

// ---- none

TEST(Healthy, work_beside_frightening_lines_is_health) {
  const auto got = diagnose(
      "2024-05-02 10:00:01.1: I xla/stream_executor/rocm/rocm_executor.cc:920] successful NUMA "
      "node "
      "read from SysFS had negative value (-1), but there must be at least one NUMA node\n"
      "2024-05-02 10:00:02.1: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] "
      "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN\n"
      "Epoch 1/2\n1875/1875 [==============================] - 9s 4ms/step - loss: 0.2912\n",
      R"({"vendor": "AMD"})");
  EXPECT_EQ(got.cause.id, "none");
  EXPECT_EQ(exit_code(got), 0);
  EXPECT_THAT(got.harmless, SizeIs(2));
}

TEST(Healthy, a_normal_boot_of_amdgpu_is_health) {
  const auto got = diagnose(
      "[    5.1] amdgpu: Overdrive is enabled, please disable it before reporting any bugs "
      "unrelated to overdrive.\n"
      "[    5.2] amdgpu 0000:03:00.0: amdgpu: Trusted Memory Zone (TMZ) feature not supported\n"
      "[    5.3] amdgpu 0000:03:00.0: amdgpu: PSP runtime database doesn't exist\n"
      "[    5.5] amdgpu 0000:03:00.0: amdgpu: SECUREDISPLAY: query securedisplay TA failed. ret "
      "0x0\n"
      "[    5.6] amdgpu 0000:03:00.0: amdgpu: SMU driver if version not matched\n");
  EXPECT_EQ(got.cause.id, "none");
  EXPECT_LT(got.cause.confidence, 0.75);
}

TEST(Healthy, a_level_word_in_its_place_speaks_against_health) {
  for (const std::string_view line :
       {"2025-01-02 10:00:00,123 - trainer - ERROR - shard 3 is odd", "[ERROR] shard 3 is odd",
        "time=2025-01-02T10:00:00Z level=ERROR source=x.go:1 msg=\"shard 3 is odd\"",
        "ERROR 01-02 10:00:00 [core.py:11] shard 3 is odd", "web-1  | FATAL: shard 3 is odd",
        "[rank0]:[E1016 17:27:46.690175963 Thing.cpp:301] shard 3 is odd",
        "2025-01-02 10:00:00.1: F tensorflow/core/x.cc:12] shard 3 is odd", "Error: shard 3 is odd",
        "x.cpp:3:1: fatal error: shard 3 is odd"}) {
    const auto got = diagnose("step 3/9 loss 1.21\n" + std::string(line) + "\n");
    EXPECT_EQ(got.cause.id, "insufficient-evidence") << line;
  }
}

TEST(Healthy, the_word_error_elsewhere_is_no_failure) {
  for (const std::string_view line :
       {"validation error 0.031 after epoch 3", "NAME   DOCKER ENDPOINT      ERROR",
        "loss 1.1 mean error: 0.02 no fatal ones", "on_error=continue", "INFO: 0 errors, 0 fatal",
        "log level: info (error, warn and info are shown)"}) {
    const auto got = diagnose("step 3/9 loss 1.21\n" + std::string(line) + "\n");
    EXPECT_EQ(got.cause.id, "none") << line;
  }
}

TEST(Healthy, an_optional_package_that_is_missing_is_made_up_for_by_work) {
  const auto got = diagnose(
      "Traceback (most recent call last):\n"
      "  File \"opt.py\", line 3, in _try\n"
      "ImportError: the fancy logger is not there\n"
      "{'loss': 2.31, 'grad_norm': 0.8, 'epoch': 0.1}\n"
      "{'loss': 2.10, 'grad_norm': 0.7, 'epoch': 0.2}\n");
  EXPECT_EQ(got.cause.id, "none");
  EXPECT_LT(got.cause.confidence, 0.75);
  EXPECT_THAT(got.cause.reasons, Contains(HasSubstr("continued without it")));
}

TEST(Healthy, an_exception_after_the_work_is_not_made_up_for) {
  const auto got = diagnose(
      "{'loss': 2.31, 'epoch': 0.1}\n"
      "Traceback (most recent call last):\n"
      "ImportError: the fancy logger is not there\n");
  EXPECT_NE(got.cause.id, "none");
}

TEST(Healthy, work_of_a_later_command_makes_up_for_nothing) {
  logs::Observations log;
  const knowledge::Signature exception{"python-exception", "", knowledge::Role::failure, "", 0, {}};
  const knowledge::Signature command{"prompt", "", knowledge::Role::command, "", 0, {}};
  const knowledge::Signature done{"training-finished", "", knowledge::Role::progress, "", 0, {}};
  for (const knowledge::Signature* one : {&exception, &command, &done}) {
    logs::Observation seen;
    seen.signature = one;
    seen.line = log.all().size() + 1;
    log.add(seen);
  }
  const Scene scene;
  const std::vector<std::string> names = {"job.log"};
  const std::vector<const CauseRule*> none;
  const auto got = diagnose_logs({log, scene, testing::tables().gpus, names}, none);
  EXPECT_EQ(got.cause.id, "insufficient-evidence");
}

TEST(Healthy, what_the_shell_or_the_system_refuses_is_a_failure) {
  for (const std::string_view line :
       {"bash: train: command not found", "cat: /x/y: No such file or directory",
        "{'loss': nan, 'epoch': 0.3}", "the engine process has died unexpectedly: core died",
        "[GIN] 2025/02/05 - 19:13:05 | 500 |  26.4s |  127.0.0.1 | POST \"/api/chat\"",
        "CMake Error at CMakeLists.txt:3 (find_package):",
        "ninja: build stopped: subcommand failed."}) {
    const auto got = diagnose("{'loss': 1.2, 'epoch': 0.2}\n" + std::string(line) + "\n");
    EXPECT_EQ(got.cause.id, "insufficient-evidence") << line;
  }
}

TEST(Healthy, a_run_after_another_command_is_another_run) {
  const auto got = diagnose(
      "[error] it is odd\n"
      "(venv) u@box:~/x$ python train.py --safe\n"
      "training finished, checkpoint saved to out.pt\n");
  EXPECT_EQ(got.cause.id, "insufficient-evidence");
}

TEST(Healthy, one_failed_test_of_many_is_not_health) {
  EXPECT_NE(diagnose("===== 1 failed, 411 passed, 3 skipped in 90.30s =====\n").cause.id, "none");
  EXPECT_EQ(diagnose("===== 411 passed, 3 skipped, 2 warnings in 90.30s =====\n").cause.id, "none");
}

TEST(Healthy, comfyui_says_executed_after_a_failure_too) {
  EXPECT_NE(diagnose("Traceback (most recent call last):\nValueError: odd\n"
                     "Prompt executed in 12.30 seconds\n")
                .cause.id,
            "none");
}

TEST(Healthy, a_guess_does_not_blame_a_run_that_did_its_work) {
  const std::string log = "AError: x\n" + std::string("training finished\n");
  const auto guess = choose_among(log, {rule("unsupported-option", "", find_type<70, 'A'>)});
  EXPECT_EQ(guess.cause.id, "none");
  EXPECT_GT(confidence_of(guess, "unsupported-option"), 0);
}

TEST(Healthy, a_kernel_failure_is_not_made_up_for) {
  logs::Observations log;
  const knowledge::Signature reset{"gpu-reset", "", knowledge::Role::failure, "", 0, {}};
  const knowledge::Signature done{"training-finished", "", knowledge::Role::progress, "", 0, {}};
  for (const knowledge::Signature* one : {&reset, &done}) {
    logs::Observation seen;
    seen.signature = one;
    seen.line = log.all().size() + 1;
    log.add(seen);
  }
  const Scene scene;
  const std::vector<std::string> names = {"job.log"};
  const std::vector<const CauseRule*> none;
  EXPECT_NE(diagnose_logs({log, scene, testing::tables().gpus, names}, none).cause.id, "none");
}

// ---- not-amd-gpu

TEST(Foreign, a_stated_vendor_decides) {
  const auto got = diagnose("[error] something odd\n", R"({"vendor": "Intel Arc"})");
  EXPECT_EQ(got.cause.id, "not-amd-gpu");
  EXPECT_THAT(got.cause.title, HasSubstr("Intel"));
}

TEST(Foreign, the_words_of_nvidias_software_decide_where_nothing_is_stated) {
  const auto got = diagnose(
      "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 7.79 GiB total "
      "capacity; 5.3 GiB already allocated)\n");
  EXPECT_EQ(got.cause.id, "not-amd-gpu");
}

TEST(Foreign, a_healthy_run_is_healthy_on_any_machine) {
  EXPECT_EQ(diagnose("{'loss': 1.2, 'epoch': 1.0}\ntraining finished\n", R"({"vendor": "NVIDIA"})")
                .cause.id,
            "none");
}

// ---- insufficient-evidence

TEST(Insufficient, only_a_consequence_names_the_signal_and_what_would_show_more) {
  const auto got =
      diagnose("[12:00:01] step 90 loss 1.1\nERROR:launcher:Rank 2 crashed with exit code -6.\n",
               R"({"vendor": "AMD", "distro": "Ubuntu 22.04"})");
  EXPECT_EQ(got.cause.id, "insufficient-evidence");
  EXPECT_THAT(got.cause.reasons, Contains(HasSubstr("SIGABRT")));
  EXPECT_THAT(texts_of(got.cause.fix), Contains(HasSubstr("coredumpctl")));
  EXPECT_THAT(texts_of(got.cause.fix), Contains(HasSubstr("headroom capture")));
}

TEST(Insufficient, the_commands_are_this_machines) {
  const auto docker = diagnose("ml-1  | 2025-03-04T05:06:07Z ERROR worker died\n",
                               R"({"vendor": "AMD", "container": "docker compose"})");
  EXPECT_THAT(texts_of(docker.cause.fix), Contains(HasSubstr("docker logs --timestamps ml-1")));
  EXPECT_THAT(texts_of(docker.cause.fix), Contains(HasSubstr("--since \"2025-03-04 05:04 UTC\"")));
  const auto unit = diagnose("May 24 10:02:41 box systemd[1]: ollama.service: [error] it failed\n");
  EXPECT_THAT(texts_of(unit.cause.fix), Contains(HasSubstr("journalctl -u ollama ")));
  const auto pod = diagnose("[error] it failed\n", R"({"container": "kubernetes"})");
  EXPECT_THAT(texts_of(pod.cause.fix), Contains(HasSubstr("kubectl logs POD --previous")));
  const auto windows = diagnose("[error] it failed\n", R"({"distro": "Windows 11"})");
  EXPECT_THAT(texts_of(windows.cause.fix), Contains(HasSubstr("Get-WinEvent")));
  EXPECT_THAT(texts_of(windows.cause.fix), Not(Contains(HasSubstr("dmesg"))));
}

TEST(Insufficient, the_window_begins_shortly_before) {
  EXPECT_EQ(shortly_before("2024-09-09T18:25:47.552Z"), "2024-09-09 18:23 UTC");
  EXPECT_EQ(shortly_before("2024-09-09 18:01:47,552"), "2024-09-09 17:59");
  EXPECT_EQ(shortly_before("2024-09-09 00:01:00"), "2024-09-09 00:00");
  EXPECT_EQ(shortly_before("2743.942606"), "");
}

}  // namespace
}  // namespace headroom::findings
