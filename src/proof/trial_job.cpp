// SPDX-License-Identifier: Apache-2.0
#include "proof/trial_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace headroom::proof {
namespace {

using estimate::Activation;
using estimate::Architecture;
using estimate::Head;
using estimate::Input;
using estimate::Job;
using estimate::MethodKind;
using estimate::NormKind;
using estimate::NormPlacement;
using estimate::OptimizerKind;
using estimate::Positions;
using estimate::Stack;

Error refuse(const std::string& found) {
  return {Errc::unsupported,
          fmt::format("expected a transformer of one stack that is trained, found {}", found),
          "headroom plan JOB.toml, or headroom test --python PATH"};
}

Status check(const Job& job, const Architecture& model) {
  if (job.method.kind == MethodKind::inference) return refuse("an inference");
  if (model.graph) return refuse("an ONNX graph");
  if (model.stacks.size() != 1) return refuse(fmt::format("a {} of several stacks", model.family));
  const Stack& stack = model.main();
  const bool takes_rows =
      stack.input.kind == Input::Kind::tokens || stack.input.kind == Input::Kind::numbers;
  if (!takes_rows) return refuse("a model of images or sound");
  if (stack.experts) return refuse("a mixture of experts");
  const auto& kind = model.head.kind;
  if (kind != Head::Kind::language && kind != Head::Kind::numbers)
    return refuse("a model without an output that a loss is taken of");
  if (stack.attention.heads % stack.attention.kv_heads != 0)
    return refuse("heads that are no multiple of their keys'");
  return Done{};
}

// Takes out what stacks would do each in its own way.
void simplify(TrialJob& trial) {
  Job& job = trial.job;
  const auto leave_out = [&trial](bool is_asked, const std::string& what) {
    if (is_asked) trial.left_out.push_back(what);
  };
  Stack& stack = trial.model.stacks.back();
  const estimate::Dropout& drop = stack.dropout;
  const bool drops =
      drop.embedding + drop.attention + drop.residual + drop.activation + drop.output > 0 ||
      job.method.dropout > 0;
  leave_out(drops, "dropout");
  stack.dropout = {};
  job.method.dropout = 0;
  leave_out(job.batch.accumulate.value_or(1) != 1, "accumulation: each batch is a step");
  job.batch.accumulate = 1;
  job.batch.global.reset();
  leave_out(job.optimizer.max_grad_norm.has_value(), "the limit of the gradients' norm");
  job.optimizer.max_grad_norm.reset();
  leave_out(job.optimizer.schedule != estimate::ScheduleKind::constant,
            "the schedule of the learning rate");
  job.optimizer.schedule = estimate::ScheduleKind::constant;
  job.optimizer.warmup_steps = 0;
  job.optimizer.warmup_ratio = 0;
  leave_out(job.optimizer.nesterov, "Nesterov's momentum");
  job.optimizer.nesterov = false;
  job.engine = {};
}

// Why the plan of the job would be that of another one; empty where it is this one's.
std::string explain_difference(const Job& job, const Architecture& model) {
  const Stack& stack = model.main();
  const bool is_llama = stack.norm.kind == NormKind::rms && !stack.norm.unit_offset &&
                        stack.placement == NormPlacement::before && stack.final_norm &&
                        stack.positions == Positions::rotary && stack.mlp.gated && stack.causal &&
                        !stack.attention.fused_qkv && !stack.mlp.fused_gate_up &&
                        !stack.attention.qk_norm && !stack.attention.qk_norm_whole &&
                        !stack.attention.soft_cap && stack.attention.rotary_part == 1.0 &&
                        model.head.kind == Head::Kind::language && !model.head.soft_cap &&
                        !model.head.scaled && !stack.residual_scaled && !stack.input.scaled;
  if (!is_llama)
    return fmt::format("{} is run as a plain transformer of its sizes, and planned as it is",
                       model.family);
  const bool has_windows = std::any_of(stack.windows.begin(), stack.windows.end(),
                                       [](std::uint64_t window) { return window > 0; });
  if (has_windows) return "the trial has no windows in its attention";
  if (!plain_type(job.method.base)) return "the trial's weights are not quantised";
  const bool has_other_optimizer =
      job.optimizer.kind != OptimizerKind::adamw && job.optimizer.kind != OptimizerKind::sgd;
  if (has_other_optimizer || job.optimizer.offload ||
      job.optimizer.master != estimate::Master::none)
    return "the trial's optimizer is another one";
  if (job.compute.checkpointing == estimate::Checkpointing::selective)
    return "the trial checkpoints whole layers";
  if (job.compute.loss != estimate::Loss::eager || job.compute.keep_outputs)
    return "the trial's loss is the plain one";
  if (job.compute.liger.on) return "the trial has no kernels of Liger's";
  const auto& targets = job.method.targets;
  const bool in_layers = std::all_of(targets.begin(), targets.end(), estimate::is_in_layers);
  if (!in_layers || !job.method.modules_to_save.empty())
    return "the trial's adapters are in its layers";
  if (job.compute.residual != job.compute.dtype || job.compute.embeddings != job.compute.dtype)
    return "the trial has one type for all weights";
  return "";
}

// Sizes and kinds are those of the job; these words are the program's.
std::string activation_of(Activation kind) {
  switch (kind) {
    case Activation::silu:
      return "silu";
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    default:
      return "gelu_tanh";
  }
}

std::string positions_of(Positions kind) {
  if (kind == Positions::rotary) return "rotary";
  return kind == Positions::learned || kind == Positions::sinusoidal ? "learned" : "none";
}

std::vector<std::string> biases_of(const Stack& stack) {
  const std::array<std::pair<bool, const char*>, 5> all = {{{stack.attention.q_bias, "q"},
                                                            {stack.attention.k_bias, "k"},
                                                            {stack.attention.v_bias, "v"},
                                                            {stack.attention.o_bias, "o"},
                                                            {stack.mlp.bias, "mlp"}}};
  std::vector<std::string> biases;
  for (const auto& [is_there, name] : all) {
    if (is_there) biases.emplace_back(name);
  }
  return biases;
}

void add_training(const Job& job, Json& words) {
  const bool has_adapters = job.method.kind != MethodKind::full;
  std::vector<std::string> targets;
  for (const estimate::Target target : job.method.targets) targets.emplace_back(to_string(target));
  words["rank"] = has_adapters ? job.method.rank : 0;
  words["alpha"] = job.method.alpha;
  words["targets"] = targets;
  words["checkpointing"] = job.compute.checkpointing != estimate::Checkpointing::none;
  words["optimizer"] = job.optimizer.kind == OptimizerKind::sgd ? "sgd" : "adamw";
  words["momentum"] = job.optimizer.momentum > 0;
  words["foreach"] = job.optimizer.foreach;
  words["fused"] = job.optimizer.fused;
  words["learning_rate"] = job.optimizer.learning_rate;
  words["weight_decay"] = job.optimizer.weight_decay;
}

}  // namespace

Result<TrialJob> make_trial_job(const Job& job, const Architecture& model) {
  HEADROOM_CHECK(check(job, model));
  TrialJob trial{model.family, job, model, {}, explain_difference(job, model)};
  simplify(trial);
  return trial;
}

std::string to_words(const TrialJob& trial) {
  const Job& job = trial.job;
  const Stack& stack = trial.model.main();
  const Head& head = trial.model.head;
  const bool has_tokens = stack.input.kind == Input::Kind::tokens;
  const bool has_numbers = head.kind == Head::Kind::numbers;
  const estimate::DType weights = plain_type(job.method.base).value_or(job.compute.dtype);
  Json words = {
      {"vocabulary", has_tokens ? trial.model.vocabulary : 0},
      {"features", has_tokens ? 0 : stack.input.features},
      {"outputs", has_numbers ? head.width : 0},
      {"per_sample", has_numbers && head.per_sample},
      {"shifted", !has_numbers && stack.causal},
      {"hidden", stack.hidden},
      {"layers", stack.layers},
      {"heads", stack.attention.heads},
      {"kv_heads", stack.attention.kv_heads},
      {"head_dim", stack.attention.head_dim},
      {"intermediate", stack.mlp.intermediate},
      {"gated", stack.mlp.gated},
      {"activation", activation_of(stack.mlp.activation)},
      {"norm", stack.norm.kind == NormKind::rms ? "rms" : "layer"},
      {"eps", stack.norm.eps},
      {"biases", biases_of(stack)},
      {"positions", positions_of(stack.positions)},
      {"position_rows", stack.position_rows},
      {"theta", stack.rope_theta},
      {"causal", stack.causal},
      {"tied", !has_numbers && head.tied},
      {"batch", trial.samples_per_step()},
      {"sequence", job.batch.sequence},
      {"dtype", to_string(job.compute.dtype)},
      {"weights", to_string(weights)},
      {"epsilon", weights == estimate::DType::fp16 ? 1e-4 : 1e-8},
  };
  add_training(job, words);
  return words.dump();
}

std::string describe(const TrialJob& trial) {
  const Job& job = trial.job;
  const Stack& stack = trial.model.main();
  const std::string method =
      job.method.kind == MethodKind::full ? "" : fmt::format(", LoRA of rank {}", job.method.rank);
  return fmt::format("{}: {} layers of {}, batches of {} x {}, {}{}, {}", trial.family,
                     stack.layers, stack.hidden, trial.samples_per_step(), job.batch.sequence,
                     to_string(job.compute.dtype), method,
                     job.optimizer.kind == OptimizerKind::sgd ? "sgd" : "adamw");
}

}  // namespace headroom::proof
