// SPDX-License-Identifier: Apache-2.0
#include "estimate/plan_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "estimate/transformers/answer_scores.h"
#include "estimate/transformers/engine.h"
#include "estimate/transformers/liger.h"
#include "estimate/transformers/version.h"

namespace headroom::estimate {
namespace {

// Settings that do not do what they seem to ask for.
void note_kernels(const Job& given, const Architecture& model, const Device& device, Plan& plan) {
  const auto note = [&plan](std::string text) { plan.notes.push_back(std::move(text)); };
  if (given.compute.attention && !has_kernel(device, *given.compute.attention)) {
    note(
        fmt::format("compute.attention = \"{}\": this device has no such kernel; PyTorch would "
                    "take \"{}\", which needs more.",
                    to_string(*given.compute.attention), to_string(device.attention)));
  } else if (given.compute.attention && *given.compute.attention != *plan.job.compute.attention) {
    note(fmt::format("compute.attention = \"{}\": it has no kernel for {}; \"{}\" is planned.",
                     to_string(*given.compute.attention), to_string(given.compute.dtype),
                     to_string(*plan.job.compute.attention)));
  }
  if (!model.stacks.empty() && as_run(model, plan.job).main().attention.soft_cap &&
      *plan.job.compute.attention != Attention::eager)
    note(
        "Its attention scores are capped, which fused kernels do not do: attention is planned as "
        "eager.");
  if (!model.stacks.empty() && model.main().attention.sinks &&
      *plan.job.compute.attention != Attention::eager)
    note(
        "Its attention has sinks, which PyTorch's kernels do not know: attention is planned as "
        "eager.");
  if (given.compute.autocast && given.method.kind == MethodKind::full &&
      given.method.base == format_of(given.compute.dtype))
    note(
        fmt::format("compute.autocast: the weights are {} already; mixed precision with full "
                    "weights is base = \"fp32\".",
                    to_string(given.compute.dtype)));
}

// What is not known of a job with images, and where a model sees none.
void note_images(const Job& job, const Architecture& model, Plan& plan) {
  if (!model.projector) return;
  if (job.batch.images_per_sample == 0)
    plan.notes.emplace_back(
        "batch.images_per_sample is not given: no image is counted, but the weights that would see "
        "it are.");
  else if (transformers::parse_version(job.engine.transformers) < transformers::Version{5, 0})
    plan.notes.emplace_back(
        "Images are planned as transformers 5 looks at them; what an older one takes for them is "
        "unproven.");
}

// Keys of inference that mean nothing in training, or for a model that does not generate.
void note_no_generation(const Job& job, const Architecture& model, Plan& plan) {
  if (model.stacks.empty()) return;
  if (job.method.kind != MethodKind::inference) {
    if (job.batch.generate > 0 || job.batch.prompt != job.batch.sequence)
      plan.notes.emplace_back(
          "batch.prompt and batch.generate are of inference: training does not read them.");
    return;
  }
  const Stack& main = model.main();
  const bool generates = model.head.kind == Head::Kind::language && main.causal;
  if (!generates && job.batch.generate > 0)
    plan.notes.push_back(
        fmt::format("batch.generate = {}: {} generates nothing, and one pass is planned.",
                    job.batch.generate, model.family));
  if (main.input.kind == Input::Kind::patches && job.batch.prompt != job.batch.sequence)
    plan.notes.push_back(
        fmt::format("batch.prompt = {}: {} is given images and no tokens; it changes nothing.",
                    job.batch.prompt, model.family));
}

// Of a model_type that is not known: how far off the answer may be. Four families with a Llama's
// keys, measured before their own rules were written, kept 16 to 36 % more for the backward pass
// than a Llama would, for their norms; the widths of a range beyond that are a margin.
void note_unproven(const Architecture& model, Plan& plan) {
  if (!model.guessed) return;
  constexpr double fewer = 0.2, more = 0.6;
  const auto kept = static_cast<double>(plan.components[allocator::Component::activations]);
  const auto peak = static_cast<double>(plan.allocated_bytes);
  const auto bytes = [](double value) {
    return to_string(Bytes{static_cast<std::uint64_t>(value)});
  };
  plan.notes.push_back(fmt::format(
      "Unproven: what the layers of model_type \"{}\" keep was not compared with PyTorch. If they "
      "keep as much as others with a Llama's keys, the peak is between {} and {}.",
      model.family, bytes(peak - fewer * kept), bytes(peak + more * kept)));
}

// Of families that were compared with transformers 5.23 alone, in plain types.
void note_untried(const Job& job, const Architecture& model, Plan& plan) {
  static constexpr std::array<std::string_view, 27> families{"granitemoehybrid",
                                                             "bamba",
                                                             "falcon_h1",
                                                             "nemotron_h",
                                                             "mamba2",
                                                             "qwen3_next",
                                                             "qwen3_5",
                                                             "qwen3_5_text",
                                                             "qwen3_5_moe",
                                                             "qwen3_5_moe_text",
                                                             "lfm2",
                                                             "deepseek_v2",
                                                             "deepseek_v3",
                                                             "gpt_oss",
                                                             "granitemoe",
                                                             "granitemoeshared",
                                                             "phimoe",
                                                             "deit",
                                                             "dinov2",
                                                             "siglip",
                                                             "hubert",
                                                             "dinov2_with_registers",
                                                             "wav2vec2",
                                                             "pegasus",
                                                             "mamba",
                                                             "falcon_mamba",
                                                             "siglip_vision_model"};
  if (std::find(families.begin(), families.end(), model.family) == families.end()) return;
  const bool older =
      transformers::parse_version(job.engine.transformers) < transformers::Version{5, 0};
  if (older)
    plan.notes.push_back(
        fmt::format("Unproven: {} was compared with transformers 5.23; what an older one keeps may "
                    "differ.",
                    model.family));
  if (!plain_type(job.method.base))
    plan.notes.push_back(fmt::format(
        "Unproven: {} was compared in fp32, bf16 and fp16, not quantised.", model.family));
}

// Layers of which kernels that are installed by themselves take less.
void note_plain_path(const Architecture& model, Plan& plan) {
  if (model.stacks.empty()) return;
  const Stack& main = model.main();
  if (main.delta_net)
    plan.notes.emplace_back(
        "Linear attention is planned by transformers' plain path. With flash-linear-attention and "
        "causal-conv1d installed it needs less.");
  if (main.mamba2)
    plan.notes.emplace_back(
        "Mamba-2's layers are planned by transformers' plain path. With mamba-ssm and "
        "causal-conv1d "
        "installed they need less.");
  if (main.short_convolution)
    plan.notes.emplace_back(
        "Convolutions are planned by transformers' plain path. With causal-conv1d installed they "
        "need less.");
}

// PEFT's _check_lora_target_modules_mamba (tuners/tuners_utils.py): their kernels read the weight
// of the last matrix itself.
void note_refused_adapters(const Job& job, const Architecture& model, Plan& plan) {
  static constexpr std::array<std::string_view, 5> refusing{"falcon_h1", "mamba", "mamba2",
                                                            "falcon_mamba", "nemotron_h"};
  const bool adapts = job.method.kind == MethodKind::lora || job.method.kind == MethodKind::qlora;
  if (!adapts || !job.method.all_linear ||
      std::find(refusing.begin(), refusing.end(), model.family) == refusing.end())
    return;
  plan.notes.push_back(
      fmt::format("PEFT refuses all-linear for {}: its out_proj takes no adapter. Name the "
                  "matrices.",
                  model.family));
}

// PEFT 0.21 with transformers 5 makes of gate_proj, up_proj and down_proj adapters on the
// matrices of all experts at once, of the rank times their number, and none on a shared one.
void note_adapted_experts(const Job& job, const Architecture& model, Plan& plan) {
  const bool adapts = job.method.kind == MethodKind::lora || job.method.kind == MethodKind::qlora;
  if (!adapts || model.stacks.empty() || !model.main().experts) return;
  // all-linear names what is nn.Linear, which of Granite 4's is everything but the experts.
  if (job.method.all_linear && model.family == "granitemoehybrid") return;
  const std::vector<Target>& targets = job.method.targets;
  if (std::none_of(targets.begin(), targets.end(),
                   [](Target each) { return each > Target::o && is_in_layers(each); }))
    return;
  plan.notes.emplace_back(
      "Unproven: PEFT's adapters on the matrices of all experts (gate, up, down) were not compared "
      "with PyTorch, and may take more than is planned. With targets = [\"q\", \"k\", \"v\", "
      "\"o\"] they are left out.");
}

// PEFT matches modules by name, and these layers have names that others have for other ones.
void note_named_mixers(const Job& job, const Architecture& model, Plan& plan) {
  const bool adapts = job.method.kind == MethodKind::lora || job.method.kind == MethodKind::qlora;
  if (!adapts || job.method.all_linear || model.stacks.empty()) return;
  const Stack& main = model.main();
  if (main.delta_net)
    plan.notes.emplace_back(
        "Targets that are named one by one are planned on attention and feed-forward alone. Where "
        "PEFT is given in_proj_… or out_proj, it adapts linear attention as well: targets = "
        "\"all-linear\" has those.");
  if (main.short_convolution)
    plan.notes.emplace_back(
        "Targets that are named one by one are planned on attention and feed-forward, out_proj on "
        "convolutions too. Where PEFT is given in_proj, it adapts that of convolutions: targets = "
        "\"all-linear\" has it.");
}

// What of TRL's steps was compared, and what of the job they were planned from was assumed.
void note_preference(const Job& job, const Architecture& model, Plan& plan) {
  const Job::Preference& preference = job.preference;
  if (preference.trainer == TrainerKind::sft || model.stacks.empty()) return;
  if (preference.prompt == 0)
    plan.notes.push_back(
        fmt::format("All {} tokens of a row are taken for its answer, as max_prompt_length is not "
                    "there. Tokens of the prompt take less.",
                    job.batch.sequence));
  // 1.14 has kernels of its own over all logits; GRPOTrainer made those of the answers alone.
  using transformers::Version;
  const Version trl = transformers::parse_version(preference.trl);
  const bool compared = preference.trainer == TrainerKind::dpo && trl >= Version{1, 0} &&
                        (trl.major != 1 || trl.minor != 14);
  if (trl < transformers::tiled_head && !compared)
    plan.notes.push_back(
        fmt::format("Unproven: TRL {} is planned as DPOTrainer of 1.6 makes all logits of a "
                    "micro-batch at once. Since 1.15 there is only a tile of them.",
                    preference.trl));
  if (job.method.kind == MethodKind::qlora)
    plan.notes.push_back(
        fmt::format("Unproven: trainer = \"{}\" was compared with TRL 1.16 over plain weights, not "
                    "over quantised ones.",
                    to_string(preference.trainer)));
  if (model.main().experts)
    plan.notes.emplace_back(
        "Unproven: TRL's steps were compared on models without experts; the router's own loss is "
        "not counted.");
  if (preference.vllm_share)
    plan.notes.push_back(fmt::format(
        "Unproven: vLLM on the same card takes {} of it, which is counted with the context. What "
        "it leaves while it sleeps, and the weights that are sent to it, are not.",
        *preference.vllm_share));
  const std::uint64_t steps =
      preference.generation_steps.value_or(job.batch.accumulate.value_or(1));
  if (preference.trainer == TrainerKind::grpo &&
      *job.batch.micro * steps % preference.generations != 0)
    plan.notes.push_back(
        fmt::format("TRL refuses micro × steps_per_generation = {} × {}, which is no multiple of "
                    "num_generations = {}.",
                    *job.batch.micro, steps, preference.generations));
}

// Liger's kernels, where they change nothing or were not compared.
void note_liger(const Job& job, const Architecture& model, Plan& plan) {
  if (!job.compute.liger.on) return;
  if (job.method.kind == MethodKind::inference) {
    plan.notes.emplace_back("use_liger_kernel is of training: inference is planned without.");
  } else if (!transformers::liger_patches(model.family)) {
    plan.notes.push_back(fmt::format(
        "use_liger_kernel: no kernels of Liger are planned for {}, which is planned without them.",
        model.family));
  } else if (transformers::parse_version(job.engine.transformers) < transformers::Version{5, 0}) {
    plan.notes.emplace_back(
        "Unproven: Liger's kernels are planned as those of 0.8.5, which asks for transformers 5.");
  }
}

// The two that a tied model shares: PEFT adapts and copies each by itself.
void note_tied(const Job& job, const Architecture& model, Plan& plan) {
  const std::vector<Target>& targets = job.method.targets;
  const bool adapts = job.method.kind == MethodKind::lora || job.method.kind == MethodKind::qlora;
  const bool ends = std::any_of(targets.begin(), targets.end(),
                                [](Target each) { return !is_in_layers(each); }) ||
                    !job.method.modules_to_save.empty();
  if (!adapts || !ends || !model.head.tied) return;
  plan.notes.emplace_back(
      "Embedding and head share one matrix, which stays; PEFT adapts or copies each by itself "
      "(ensure_weight_tying is not planned).");
}

}  // namespace

void note_model(const Job& given, const Job& job, const Architecture& model, const Device& device,
                Plan& plan) {
  note_kernels(given, model, device, plan);
  note_images(job, model, plan);
  note_no_generation(job, model, plan);
  note_plain_path(model, plan);
  note_unproven(model, plan);
  note_untried(job, model, plan);
  note_adapted_experts(job, model, plan);
  note_refused_adapters(job, model, plan);
  note_named_mixers(job, model, plan);
  note_preference(job, model, plan);
  note_liger(job, model, plan);
  note_tied(job, model, plan);
}

}  // namespace headroom::estimate
