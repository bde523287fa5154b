// SPDX-License-Identifier: Apache-2.0
// How long a plan and a search take, in process: the bars are 5 ms for one plan of a model of 3 G
// parameters, and 1 s for a search over 2,000 combinations of settings.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "base/document.h"
#include "estimate/plan.h"
#include "estimate/search.h"
#include "estimate/step.h"

namespace headroom::estimate {
namespace {

const char* const qwen2_5_3b = R"({"model_type": "qwen2", "hidden_size": 2048,
    "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16,
    "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": true})";

struct Given {
  Job job;
  Architecture model;
  Device device;
};

template <class T>
T or_exit(Result<T> result) {
  if (result) return *std::move(result);
  std::cerr << result.error().message << "\n";
  std::exit(1);
}

Given given(const std::string& keys) {
  const Document document = or_exit(parse_document("[model]\nconfig = \"x\"\n" + keys));
  Given made{or_exit(parse_job(document)),
             or_exit(parse_architecture(or_exit(parse_json(qwen2_5_3b)))),
             {}};
  made.device = or_exit(find_device(made.job));
  return made;
}

const char* const lora = "[method]\nkind = \"lora\"\n[device]\ngpu = \"RX 7900 XT\"\n";
// Nothing of it fits as it is, and everything may vary.
const char* const full =
    "[compute]\ndtype = \"fp32\"\n[batch]\nmicro = 60\nsequence = 2048\naccumulate = 2\n"
    "[device]\ngpu = \"RX 7900 XT\"\n";

void one_plan(benchmark::State& state, const char* keys) {
  const Given made = given(keys);
  for (auto _ : state)
    benchmark::DoNotOptimize(or_exit(make_plan(made.job, made.model, made.device)));
}

void one_recording(benchmark::State& state, const char* keys) {
  Given made = given(keys);
  made.job.compute.attention = attention_for(made.job, made.device);
  for (auto _ : state)
    benchmark::DoNotOptimize(or_exit(record_step(made.job, made.model, made.device)));
}

void one_search(benchmark::State& state, const char* keys) {
  Given made = given(keys);
  made.job.compute.attention = attention_for(made.job, made.device);
  const TryJob try_job = make_trial(made.model, made.device);
  std::uint64_t combinations = 0;
  for (auto _ : state) {
    const Search found = or_exit(find_settings(made.job, made.model, made.device, try_job, false));
    combinations = found.combinations;
  }
  state.counters["combinations"] = static_cast<double>(combinations);
}

BENCHMARK_CAPTURE(one_recording, lora_3b, lora)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(one_plan, lora_3b, lora)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(one_search, full_3b, full)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headroom::estimate
