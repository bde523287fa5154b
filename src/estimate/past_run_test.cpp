// SPDX-License-Identifier: Apache-2.0
// Reading reports of our trainer and of other programs, and telling models apart by their shape.
#include "estimate/past_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimate/job_json.h"

namespace headroom::estimate {
namespace {

using ::testing::HasSubstr;

Result<PastRun> read(const char* report) {
  HEADROOM_TRY(const Json json, parse_json(report));
  PastRun run;
  HEADROOM_CHECK(add_report(json, run));
  return run;
}

Architecture model(const char* config) {
  return *parse_architecture(*parse_json(config));
}

TEST(PastRun, a_report_of_one_number_is_enough) {
  const auto run = read(R"({"measured": {"allocated_bytes": 12345678}})");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->measured.allocated_bytes, 12345678U);
  EXPECT_FALSE(run->measured.reserved_bytes);
  EXPECT_FALSE(run->measured.components);
  EXPECT_EQ(run->outcome, Outcome::completed);
}

TEST(PastRun, amounts_in_floating_point_are_taken) {
  const auto run = read(R"({"measured": {"allocated_bytes": 1.5e9, "reserved_bytes": null}})");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->measured.allocated_bytes, 1500000000U);
}

TEST(PastRun, the_plan_in_a_report_is_what_was_planned_then) {
  const auto run = read(R"({"measured": {"allocated_bytes": 10, "components": {"weights": 10}},
      "predicted": {"allocated_bytes": 11, "reserved_bytes": 12, "components": {"logits": 11}},
      "engine_version": "4.51", "device": "MI50"})");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->predicted.allocated_bytes, 11U);
  EXPECT_EQ((*run->predicted.components)[Component::logits], 11U);
  EXPECT_EQ((*run->measured.components)[Component::weights], 10U);
  EXPECT_EQ(run->engine_version, "4.51");
  EXPECT_EQ(run->device, "MI50");
}

TEST(PastRun, a_run_out_of_memory_is_told_from_one_that_was_stopped) {
  const auto failed = read(
      R"({"measured": {"allocated_bytes": 1}, "completed": false, "oom_events": [{"step": 1}]})");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->outcome, Outcome::out_of_memory);
  const auto stopped = read(
      R"({"measured": {"allocated_bytes": 1}, "completed": false, "oom_events": [], "steps": 7})");
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->outcome, Outcome::stopped);
}

TEST(PastRun, a_run_without_two_steps_has_measured_nothing) {
  const auto run = read(R"({"measured": {"allocated_bytes": 1}, "completed": false, "steps": 1})");
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("two whole steps"));
}

TEST(PastRun, what_is_no_report_is_refused_by_name) {
  for (const auto& [report, named] : std::vector<std::pair<const char*, const char*>>{
           {"[1]", "report"},
           {"{}", "measured"},
           {R"({"measured": 5})", "memory"},
           {R"({"measured": {}})", "allocated_bytes"},
           {R"({"measured": {"allocated_bytes": -1}})", "allocated_bytes"},
           {R"({"measured": {"allocated_bytes": "5 GiB"}})", "allocated_bytes"},
           {R"({"measured": {"allocated_bytes": 1e300}})", "allocated_bytes"},
           {R"({"measured": {"allocated_bytes": 18446744073709551615}})", "allocated_bytes"},
           {R"({"measured": {"allocated_bytes": 1, "components": [2]}})", "components"},
           {R"({"measured": {"allocated_bytes": 1, "components": {"soup": 2}}})", "components"},
           {R"({"measured": {"allocated_bytes": 1}, "completed": "yes"})", "completed"}}) {
    const auto run = read(report);
    ASSERT_FALSE(run) << report;
    EXPECT_THAT(run.error().message, HasSubstr(named)) << report;
  }
}

TEST(PastRun, memory_peaks_survive_json) {
  MemoryPeak peak;
  peak.allocated_bytes = 7;
  peak.components = allocator::ByComponent{};
  (*peak.components)[Component::kv_cache] = 7;
  const auto back = parse_memory_peak(to_json(peak));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json(*back), to_json(peak));
  EXPECT_FALSE(back->reserved_bytes);
}

TEST(PastRun, models_of_one_shape_have_one_fingerprint) {
  const char* const a = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
      "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 300})";
  const char* const same = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
      "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 300, "eos_token_id": 5})";
  const char* const deeper = R"({"model_type": "llama", "hidden_size": 64,
      "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4,
      "vocab_size": 300})";
  EXPECT_EQ(fingerprint(model(a)), fingerprint(model(same)));
  EXPECT_NE(fingerprint(model(a)), fingerprint(model(deeper)));
  EXPECT_EQ(fingerprint(model(a)).size(), 16U);
}

TEST(JobJson, is_read_back_as_the_same_job) {
  for (const char* text :
       {"[model]\nname = \"x\"\n",
        "[model]\nname = \"x\"\n[method]\nkind = \"lora\"\nrank = 4\ntargets = [\"q\", \"v\"]\n"
        "[batch]\nmicro = \"auto\"\nglobal = 32\n[device]\ncapacity = \"16GiB\"\n",
        "[model]\nname = \"x\"\n[method]\nkind = \"qlora\"\nbase = \"gptq4\"\ngroup_size = 64\n"
        "[compute]\ndtype = \"fp16\"\nautocast = true\nattention = \"math\"\nloss = \"chunked\"\n",
        "[model]\nname = \"x\"\n[method]\nkind = \"inference\"\n[batch]\nprompt = 99\n"
        "generate = 7\n[engine]\ntransformers = \"4.45\"\n[device]\ncontext = \"1GiB\"\n"}) {
    const auto job = parse_job(*parse_document(text));
    ASSERT_TRUE(job) << job.error().message;
    Json json = to_json(*job);
    json["model"]["name"] = "x";
    const auto again = parse_job(Document{json, {}});
    ASSERT_TRUE(again) << again.error().message << json.dump();
    EXPECT_EQ(to_json(*again), to_json(*job));
  }
}

}  // namespace
}  // namespace headroom::estimate
