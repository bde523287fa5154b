// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_preference.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/document.h"
#include "estimate/job_words.h"

namespace headroom::estimate {
namespace {

const std::vector<std::string> trainer_names = {"sft", "dpo", "grpo"};
// Those of DPOTrainer, which differ by numbers of one per row: any of them needs the same memory.
const std::vector<std::string> pair_losses = {
    "sigmoid",  "hinge",    "ipo",       "exo_pair", "nca_pair",
    "robust",   "bco_pair", "sppo_hard", "aot",      "aot_unpaired",
    "apo_zero", "apo_down", "discopop",  "sft",      "sigmoid_norm"};
// Those of GRPOTrainer.
const std::vector<std::string> group_losses = {"grpo",  "dr_grpo", "dapo",  "bnpo",
                                               "cispo", "sapo",    "luspo", "vespo"};

constexpr Range lengths = {1, 1U << 24U};
constexpr Range counts = {1, 1U << 16U};
constexpr std::uint64_t completion_default = 512;  // GRPOConfig's
constexpr std::uint64_t prompt_default = 512;  // What TRL cut prompts to while it did (before 1.0).
constexpr double share_default = 0.3;          // vllm_gpu_memory_utilization's

// A key of another trainer is a mistake: nothing would follow from it.
void refuse_elsewhere(TableReader& table, const Job& job, TrainerKind wanted,
                      std::initializer_list<const char*> keys) {
  if (job.preference.trainer == wanted) return;
  for (const char* key : keys) {
    if (table.find(key) == nullptr) continue;
    table.fail(
        key, Errc::invalid,
        fmt::format("expected method.trainer = \"{}\" beside it, found \"{}\"", to_string(wanted),
                    to_string(job.preference.trainer)),
        fmt::format("leave it out, or write trainer = \"{}\" under [method]", to_string(wanted)));
    return;
  }
}

void read_share(TableReader& method, Job& job) {
  bool uses = false;
  method.read("use_vllm", uses);
  double share = share_default;
  method.read("vllm_gpu_memory_utilization", share, 0.01, 0.99);
  if (uses) job.preference.vllm_share = share;
}

}  // namespace

std::string_view to_string(TrainerKind kind) {
  return trainer_names.at(static_cast<std::size_t>(kind));
}

void read_preference_method(TableReader& method, Job& job) {
  Job::Preference& preference = job.preference;
  method.read_choice("trainer", preference.trainer, trainer_names);
  method.read("precompute_ref_log_probs", preference.precomputed);
  method.read("beta", preference.beta, 0.0, 1e6);
  std::optional<std::size_t> loss;
  method.read_choice("loss_type", loss,
                     preference.trainer == TrainerKind::grpo ? group_losses : pair_losses);
  read_share(method, job);
  refuse_elsewhere(method, job, TrainerKind::dpo, {"precompute_ref_log_probs"});
  refuse_elsewhere(method, job, TrainerKind::grpo, {"use_vllm", "vllm_gpu_memory_utilization"});
  if (preference.trainer == TrainerKind::sft && method.find("beta") != nullptr)
    refuse_elsewhere(method, job, TrainerKind::dpo, {"beta"});
  if (preference.trainer == TrainerKind::sft && method.find("loss_type") != nullptr)
    refuse_elsewhere(method, job, TrainerKind::dpo, {"loss_type"});
  if (preference.trainer != TrainerKind::sft && job.method.kind == MethodKind::inference)
    method.fail("trainer", Errc::invalid,
                "expected method.kind = \"full\", \"lora\" or \"qlora\" beside it, found "
                "\"inference\"",
                "leave trainer out, or write kind = \"lora\"");
}

void read_preference_batch(TableReader& batch, Job& job) {
  Job::Preference& preference = job.preference;
  const bool generates = preference.trainer == TrainerKind::grpo;
  if (generates) preference.prompt = prompt_default;
  if (preference.trainer != TrainerKind::sft)
    batch.read("max_prompt_length", preference.prompt, {0, lengths.max});
  std::uint64_t answer = completion_default;
  if (preference.trainer != TrainerKind::sft) batch.read("max_completion_length", answer, lengths);
  const bool says_answer = batch.find("max_completion_length") != nullptr;
  const bool says_all = batch.find("sequence") != nullptr;
  if (says_answer && says_all && preference.prompt + answer != job.batch.sequence)
    batch.fail(
        "sequence", Errc::invalid,
        fmt::format("expected prompt and answer together, {} + {} = {}, found {}",
                    preference.prompt, answer, preference.prompt + answer, job.batch.sequence),
        "leave one of the three out");
  if (says_answer || (generates && !says_all)) job.batch.sequence = preference.prompt + answer;
  if (preference.prompt >= job.batch.sequence)
    batch.fail("max_prompt_length", Errc::invalid,
               fmt::format("expected fewer tokens than the whole row has, {}, found {}",
                           job.batch.sequence, preference.prompt),
               "write a shorter max_prompt_length, or a longer sequence");
  if (!generates) {
    refuse_elsewhere(batch, job, TrainerKind::grpo,
                     {"num_generations", "steps_per_generation", "num_iterations"});
    if (preference.trainer == TrainerKind::sft)
      refuse_elsewhere(batch, job, TrainerKind::dpo,
                       {"max_prompt_length", "max_completion_length"});
    return;
  }
  batch.read("num_generations", preference.generations, counts);
  batch.read("num_iterations", preference.iterations, counts);
  if (batch.find("steps_per_generation") == nullptr) return;
  std::uint64_t steps = 1;
  batch.read("steps_per_generation", steps, counts);
  preference.generation_steps = steps;
}

void read_preference_engine(TableReader& engine, Job& job) {
  read_release(engine, "trl", job.preference.trl);
  if (job.preference.trainer == TrainerKind::sft || job.engine.kind == EngineKind::transformers)
    return;
  engine.fail("kind", Errc::unsupported,
              fmt::format("expected \"transformers\", whose TRL has method.trainer = \"{}\", found "
                          "\"{}\"",
                          to_string(job.preference.trainer), to_string(job.engine.kind)),
              "write kind = \"transformers\", or leave method.trainer out");
}

void write_preference(const Job& job, Json& method, Json& batch, Json& engine) {
  const Job::Preference& preference = job.preference;
  if (preference.trainer == TrainerKind::sft) return;
  method["trainer"] = to_string(preference.trainer);
  batch["max_prompt_length"] = preference.prompt;
  if (preference.trl != Job::Preference{}.trl) engine["trl"] = preference.trl;
  if (preference.trainer == TrainerKind::dpo) {
    if (preference.precomputed) method["precompute_ref_log_probs"] = true;
    return;
  }
  method["beta"] = preference.beta;
  batch["num_generations"] = preference.generations;
  if (preference.generation_steps) batch["steps_per_generation"] = *preference.generation_steps;
  if (preference.iterations > 1) batch["num_iterations"] = preference.iterations;
  if (!preference.vllm_share) return;
  method["use_vllm"] = true;
  method["vllm_gpu_memory_utilization"] = *preference.vllm_share;
}

}  // namespace headroom::estimate
