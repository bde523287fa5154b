// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "estimate/models/waveform.h"
#include "estimate/optimizer.h"
#include "estimate/tape.h"
#include "estimate/transformers/image_size.h"
#include "estimate/transformers/liger.h"
#include "estimate/transformers/mlp.h"
#include "estimate/transformers/network.h"
#include "estimate/transformers/preference.h"

namespace headroom::estimate {
namespace {

// A table of positions has an end; rotary and relative ones go on.
Status check_positions(const Job& job, const Architecture& model) {
  const Stack& main = model.main();
  const bool table = main.positions == Positions::learned && main.position_rows > 0 &&
                     main.input.kind == Input::Kind::tokens;
  if (!table) return Done{};
  const bool infers = job.method.kind == MethodKind::inference;
  const std::uint64_t trained =
      main.cross_attention ? job.batch.target.value_or(job.batch.sequence) : job.batch.sequence;
  const std::uint64_t tokens = infers ? job.batch.prompt + job.batch.generate : trained;
  if (tokens <= main.position_rows) return Done{};
  const std::string wrong =
      fmt::format("expected at most {}, the positions that the model has, found {}",
                  main.position_rows, tokens);
  if (infers) {
    return Error{Errc::invalid, wrong, "write a shorter prompt, or generate less"}.in(
        "batch.prompt and batch.generate");
  }
  return Error{Errc::invalid, wrong, fmt::format("write sequence = {}", main.position_rows)}.at(
      "batch.sequence");
}

// Convolutions over samples need some before they give a frame.
Status check_samples(const Job& job, const Architecture& model) {
  const auto& wave = model.main().input.waveform;
  if (!wave) return Done{};
  const bool infers = job.method.kind == MethodKind::inference;
  const std::uint64_t samples = infers ? job.batch.prompt : job.batch.sequence;
  if (samples >= wave->samples_min()) return Done{};
  return Error{Errc::invalid,
               fmt::format("expected at least the {} samples that one frame of {} is made of, "
                           "found {}",
                           wave->samples_min(), model.family, samples),
               "count samples of sound here: 16000 are a second"}
      .at(infers ? "batch.prompt" : "batch.sequence");
}

// Images are looked at by a model that has a tower and a projector, and their tokens are among
// those of the sequence.
Status check_images(const Job& job, const Architecture& model) {
  const std::uint64_t images = job.batch.images_per_sample;
  if (images == 0) return Done{};
  if (!model.projector)
    return Error{
        Errc::unsupported,
        fmt::format("expected a model that sees images among its text, found {}", model.family),
        "leave images_per_sample out, or name a model with a vision tower (docs/models.md)"}
        .at("batch.images_per_sample");
  if (patch_grid(model, job).patches() == 0)
    return Error{
        Errc::invalid,
        fmt::format("expected the size of the images, which {} sees as they are, found none",
                    model.family),
        "write image_size = [height, width]"}
        .at("batch.image_size");
  const bool infers = job.method.kind == MethodKind::inference;
  const std::uint64_t tokens = infers ? job.batch.prompt : job.batch.sequence;
  const std::uint64_t needed = images * image_tokens(model, job);
  if (needed <= tokens) return Done{};
  return Error{Errc::invalid,
               fmt::format("expected room for {} images of {} tokens each, found {} tokens", images,
                           image_tokens(model, job), tokens),
               fmt::format("write at least {} = {}, or fewer images",
                           infers ? "prompt" : "sequence", needed)}
      .at(infers ? "batch.prompt" : "batch.sequence");
}

// What a recording of them has room for: 2.5 GB where they have adapters.
constexpr std::uint64_t single_experts_max = std::uint64_t{1} << 16U;

Status check_experts(const Job& job, const Architecture& model) {
  const std::uint64_t count = transformers::single_experts(job, model);
  if (count <= single_experts_max) return Done{};
  return Error{Errc::unsupported,
               fmt::format("expected at most {} experts in all layers that are planned one by one, "
                           "as quantised ones and those with adapters are, found {}",
                           single_experts_max, count),
               "plan it with plain weights, and adapters on targets = [\"q\", \"k\", \"v\", "
               "\"o\"] alone"}
      .at("num_experts");
}

// As PEFT's inject_adapter ends where no module has one of the names (tuners/tuners_utils.py).
Error no_module(const Job& job, const Architecture& model, std::string_view has) {
  std::string found;
  for (const Target target : job.method.targets)
    found += fmt::format("{}{}", found.empty() ? "" : ", ", to_string(target));
  return Error{Errc::invalid,
               fmt::format("expected modules that {} has ({}), found {}, of which it has none",
                           model.family, has, found),
               "write targets = \"all-linear\", or the names of some of them"}
      .at("method.targets");
}

// Embedding and head with adapters or copies: of a decoder, which has one of each.
Status check_adapted_ends(const Job& job, const Architecture& model) {
  const bool adapts = job.method.kind == MethodKind::lora || job.method.kind == MethodKind::qlora;
  const auto has = [](const std::vector<Target>& all, Target target) {
    return std::find(all.begin(), all.end(), target) != all.end();
  };
  const bool adapted = std::any_of(job.method.targets.begin(), job.method.targets.end(),
                                   [](Target target) { return !is_in_layers(target); });
  if (!adapts || (!adapted && job.method.modules_to_save.empty())) return Done{};
  const char* key = adapted ? "method.targets" : "method.modules_to_save";
  const bool is_decoder = model.stacks.size() == 1 && !model.projector &&
                          model.head.kind == Head::Kind::language && model.main().causal &&
                          model.main().input.kind == Input::Kind::tokens;
  if (!is_decoder)
    return Error{Errc::unsupported,
                 fmt::format("expected a causal language model of text alone for embed_tokens and "
                             "lm_head, found {}",
                             model.family),
                 "leave the two out"}
        .at(key);
  // TRL's add_fused_lm_head and Liger's forward take the head's weight alone.
  const bool passes_by =
      job.preference.trainer != TrainerKind::sft &&
      transformers::parse_version(job.preference.trl) >= transformers::tiled_head;
  const bool fused = transformers::liger_of(job, model.family).fused_loss;
  if (has(job.method.targets, Target::head) && (passes_by || fused))
    return Error{
        Errc::unsupported,
        fmt::format("expected no adapter on lm_head, which {} passes by, so that it learns "
                    "nothing",
                    passes_by ? "TRL since 1.15" : "Liger's loss"),
        "name lm_head in modules_to_save, or leave it out"}
        .at("method.targets");
  return Done{};
}

// What the optimizer of a job goes through. transformers' Trainer keeps the states of embeddings in
// fp32 where the others' are in 8 bits (trainer.py, create_optimizer, register_module_override).
class JobOptimizer {
 public:
  JobOptimizer(const Job& job, const std::set<std::uint32_t>& tables, Tape& tape)
      : tape_(tape), optimizer_(job.optimizer), wide_(wide_states(job.optimizer)) {
    const bool apart = job.optimizer.by_trainer && job.optimizer.kind == OptimizerKind::adamw8bit;
    for (const Tensor& parameter : tape.trainable()) {
      const bool is_table = apart && tables.count(parameter.storage->tensor()) > 0;
      (is_table ? tables_ : others_).push_back(parameter);
    }
    for (Tensor& table : tables_) table.element = Element::fp32;
    optimizer_.prepare(tape, others_);
  }

  void step() {
    tape_.set_phase(Phase::optimizer);
    optimizer_.step(tape_, others_);
    if (!tables_.empty()) wide_.step(tape_, tables_);
  }

 private:
  static Job::Optimizer wide_states(Job::Optimizer settings) {
    settings.kind = OptimizerKind::adamw;
    settings.fused = true;  // One kernel in this as well.
    return settings;
  }

  Tape& tape_;
  Optimizer optimizer_, wide_;
  std::vector<Tensor> others_, tables_;
};

template <class Function>
void train(Tape& tape, const Job& job, const std::set<std::uint32_t>& tables,
           const Function& train_micro_batch, std::uint64_t steps) {
  JobOptimizer optimizer(job, tables, tape);
  // From the second micro-batch on, the gradients are there during the forward: more change
  // nothing.
  const std::uint64_t micro_batches = std::min<std::uint64_t>(job.batch.accumulate.value_or(1), 2);
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (std::uint64_t i = 0; i < micro_batches; ++i) train_micro_batch(i == 0);
    optimizer.step();
    if (step + 1 < steps) tape.set_phase(Phase::forward);
    Optimizer::zero_grad(tape.trainable());
  }
}

}  // namespace

Architecture as_run(Architecture model, const Job& job) {
  const transformers::Version version = transformers::parse_version(job.engine.transformers);
  if (model.head.tied_since_5 && version >= transformers::always_tied_t5) model.head.tied = true;
  const bool fused = job.compute.given.attention && job.compute.attention != Attention::eager &&
                     job.compute.attention != Attention::math;
  if (fused && version < transformers::capped_is_eager)
    for (Stack& stack : model.stacks) stack.attention.soft_cap = false;
  return model;
}

Result<Recording> record_transformers(const Job& job, const Architecture& given,
                                      const Device& device, std::uint64_t steps) {
  const Architecture model = as_run(given, job);
  HEADROOM_CHECK(check_positions(job, model));
  HEADROOM_CHECK(check_images(job, model));
  HEADROOM_CHECK(check_samples(job, model));
  HEADROOM_CHECK(check_adapted_ends(job, model));
  HEADROOM_CHECK(check_experts(job, model));
  HEADROOM_CHECK(transformers::check_liger(job, model.family));
  if (job.preference.trainer != TrainerKind::sft)
    HEADROOM_CHECK(transformers::check_preference(job, model));
  using transformers::Version;
  const Version version = transformers::parse_version(job.engine.transformers);
  const Version torch = transformers::torch_version(job.engine.torch, version);
  const std::uint64_t workspace_bytes = device.blas_workspace.value;
  const bool each_its_own =
      device.vendor == knowledge::Vendor::nvidia && torch >= transformers::product_workspaces;
  ProductWorkspace of_products;
  if (each_its_own) of_products = {workspace_bytes, transformers::lt_workspace_bytes};
  Recorder recorder;
  {
    Tape tape(recorder, of_products, device.resident_threads);
    transformers::Run run{tape,
                          job,
                          version,
                          torch,
                          job.batch.micro.value_or(1),
                          model.projector ? patch_grid(model, job) : PatchGrid{},
                          model.projector ? tiles_of(model, job) : std::nullopt,
                          device.attention == Attention::flash,
                          /*frozen=*/false,
                          {}};
    run.liger = transformers::liger_of(job, model.family);
    constexpr std::uint64_t threads_of_multiprocessor = 2048;
    run.multiprocessors =
        std::max<std::uint64_t>(1, device.resident_threads / threads_of_multiprocessor);
    // One for the thread of the forward, one for autograd's (CUDABlas.cpp,
    // getCurrentCUDABlasHandle).
    const Meta workspace{{workspace_bytes}, Element::uint8};
    Tensor forward_workspace, backward_workspace;
    if (!each_its_own)
      forward_workspace = tape.empty("blas_workspace", workspace, Component::workspace);
    if (!each_its_own && run.trains())
      backward_workspace = tape.empty("blas_workspace", workspace, Component::workspace);
    transformers::Network network(run, model);
    if (run.adapters() && !run.adapted) return no_module(job, model, network.modules());
    if (!run.trains()) {
      network.generate();
    } else if (job.preference.trainer != TrainerKind::sft) {
      transformers::PreferenceTrainer trainer(run, model, network);
      train(
          tape, job, run.tables, [&trainer](bool first) { trainer.train_micro_batch(first); },
          steps);
    } else {
      train(
          tape, job, run.tables, [&network](bool) { network.train_micro_batch(); }, steps);
    }
  }
  return recorder.take();
}

}  // namespace headroom::estimate
