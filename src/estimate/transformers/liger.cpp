// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/liger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace headroom::estimate::transformers {
namespace {

// One apply_liger_kernel_to_…: which of its parameters are True, or there at all.
struct Patch {
  std::string_view family;
  bool rope = true;
  bool norm = true;
  bool in_place = true;  // LigerRMSNorm's: not where a residual needs the gradient as well.
  bool geglu = false;    // It has "geglu" in place of "swiglu".
  bool fused_loss = true;
  bool cross_entropy = false;
};

constexpr std::array<Patch, 14> patches = {{
    {.family = "exaone4", .in_place = false},
    {.family = "gemma", .geglu = true},
    {.family = "gemma2", .in_place = false, .geglu = true},
    {.family = "gemma3_text", .in_place = false, .geglu = true},
    {.family = "glm4", .rope = false, .in_place = false},
    {.family = "granite", .fused_loss = false, .cross_entropy = true},
    {.family = "llama"},
    {.family = "ministral"},
    {.family = "mistral"},
    {.family = "olmo2", .in_place = false},
    {.family = "phi3"},
    {.family = "qwen2"},
    {.family = "qwen3"},
    {.family = "smollm3"},
}};

const Patch* find_patch(std::string_view family) {
  const auto* found = std::find_if(patches.begin(), patches.end(),
                                   [&](const Patch& one) { return one.family == family; });
  return found == patches.end() ? nullptr : found;
}

}  // namespace

bool liger_patches(std::string_view family) {
  return find_patch(family) != nullptr;
}

LigerKernels liger_of(const Job& job, std::string_view family) {
  const Job::Compute::Liger& told = job.compute.liger;
  const Patch* patch = find_patch(family);
  const bool runs = told.on && job.method.kind != MethodKind::inference;
  if (!runs || patch == nullptr) return {};
  LigerKernels kernels;
  // A parameter that the family's function does not have is not given to it, whatever is told.
  kernels.rope = patch->rope && told.rope.value_or(true);
  kernels.norm = patch->norm && told.rms_norm.value_or(true);
  kernels.norm_in_place = patch->in_place;
  kernels.glu = (patch->geglu ? told.geglu : told.swiglu).value_or(true);
  kernels.fused_loss = patch->fused_loss && told.fused_linear_cross_entropy.value_or(true);
  kernels.cross_entropy = told.cross_entropy.value_or(patch->cross_entropy) && !kernels.fused_loss;
  return kernels;
}

namespace {

// What the family's function refuses of its two losses: both (an assertion of each), and the fused
// one where it cannot be (granite: NotImplementedError).
Status check_losses(const Job::Compute::Liger& told, const Patch& patch) {
  const bool fused = told.fused_linear_cross_entropy.value_or(patch.fused_loss);
  const bool plain = told.cross_entropy.value_or(patch.cross_entropy);
  if (!fused || (!plain && patch.fused_loss)) return Done{};
  const bool can = patch.fused_loss;
  const std::string_view key = can ? "cross_entropy" : "fused_linear_cross_entropy";
  return Error{
      Errc::invalid,
      can ? std::string("expected one of Liger's two losses, found cross_entropy beside "
                        "fused_linear_cross_entropy, which is on unless it is told off")
          : fmt::format("expected no fused_linear_cross_entropy, which Liger has not for "
                        "{}, found true",
                        patch.family),
      can ? "write fused_linear_cross_entropy = false beside it, or leave it out" : "leave it out"}
      .at(fmt::format("compute.liger_kernel_config.{}", key));
}

}  // namespace

Status check_liger(const Job& job, std::string_view family) {
  if (!job.compute.liger.on) return Done{};
  const auto refuse = [](std::string_view expected, std::string_view found) -> Status {
    return Error{Errc::unsupported, fmt::format("expected {}, found {}", expected, found),
                 "leave use_liger_kernel out"}
        .at("compute.use_liger_kernel");
  };
  if (job.preference.trainer != TrainerKind::sft)
    return refuse("trainer = \"sft\" with Liger's kernels", to_string(job.preference.trainer));
  if (job.compute.loss != Loss::eager || job.compute.norm != NormKernel::eager)
    return refuse("Liger's own loss and norms", "compute.loss or compute.norm beside it");
  const Patch* patch = find_patch(family);
  const bool trains = job.method.kind != MethodKind::inference;
  return patch != nullptr && trains ? check_losses(job.compute.liger, *patch) : Done{};
}

Tensor liger_rms_norm(Run& run, const Tensor& x, const Tensor& weight, Name name) {
  Tape& tape = run.tape;
  const Meta input = x.meta();
  const Meta scale = weight.meta();
  const Meta rows{{input.elements() / std::max<std::uint64_t>(1, x.shape.back())}, Element::fp32};
  const Meta parts{{run.multiprocessors, scale.shape.front()}, Element::fp32};
  const bool in_place = run.liger.norm_in_place;
  const Tensor y = tape.empty(name, input);
  const Tensor rstd = tape.empty(name + ".rstd", rows);
  return tape.connect(
      y, {x, weight}, {x, weight, rstd},
      [=](Tape& t, const Tensor& grad, const Node& node) -> Tensors {
        Tensors grads(2);
        Tensor sums;  // One row of each multiprocessor.
        if (node.wants(1)) sums = t.empty(name + ".weight_grad_parts", parts);
        grads[0] = in_place ? Tape::view(grad, input.shape) : t.empty(name + ".grad", input);
        if (!node.wants(1)) return grads;
        grads[1] = t.empty(name + ".weight_grad_fp32", {scale.shape, Element::fp32});
        if (scale.element != Element::fp32) grads[1] = t.empty(name + ".weight_grad", scale);
        return grads;
      });
}

Tensor liger_glu(Tape& tape, const Tensor& gate, const Tensor& up, Name name) {
  return tape.connect(tape.empty(name, gate), {gate, up}, {gate, up},
                      [](Tape&, const Tensor&, const Node& node) -> Tensors {
                        return {node.saved[0], node.saved[1]};
                      });
}

Tensor liger_glu_of_halves(Tape& tape, const Tensor& both, Name name) {
  const Meta whole = both.meta();
  Meta half = whole;
  half.shape.back() /= 2;
  const Tensor gate = tape.empty(name + ".gate", half);
  const Tensor up = tape.empty(name + ".up", half);
  return tape.connect(tape.empty(name, half), {both}, {gate, up},
                      [=](Tape& t, Tensor grad, const Node&) -> Tensors {
                        grad = {};  // The halves' gradients are joined by a node of their own.
                        return {t.empty(name + ".halves_grad", whole)};
                      });
}

Tensor liger_linear_cross_entropy(Run& run, const Tensor& rows, const Linear& head) {
  Tape& tape = run.tape;
  const Tensor& weight = weight_of(run, head);
  const std::uint64_t count = rows.shape[0];
  const std::uint64_t width = rows.shape[1];
  const std::uint64_t vocabulary = weight.shape[0];
  const std::uint64_t parts = (vocabulary + width - 1) / width;
  std::uint64_t size = 1;
  while (size < (count + parts - 1) / parts) size *= 2;
  size = std::min(size, count);
  const Meta ids{{count}, Element::int64};
  const Tensor padded = tape.empty("labels.padded", ids, Component::other);
  const Tensor labels = tape.empty("labels.shifted", ids, Component::other);
  const bool trained = weight.requires_grad();
  Tensor hidden_grad = tape.empty("hidden.grad", rows, Component::activations);
  Tensor weight_grad;
  if (trained) weight_grad = tape.empty("head.weight_grad", weight, Component::gradients);
  const Tensor losses = tape.empty("loss.rows", {{count}, Element::fp32});
  const Tensor counted = tape.empty("labels.counted", {{count}, Element::uint8}, Component::other);
  // With operands as autocast would have them, into one buffer; else by autocast, chunk by chunk.
  const Element made = run.autocasts() ? run.compute() : rows.element;
  const bool direct = rows.element == weight.element && made == rows.element;
  Tensor buffer;
  if (direct) buffer = tape.empty("logits.chunk", {{size, vocabulary}, made});
  for (std::uint64_t at = 0; at < count; at += size) {
    const std::uint64_t some = std::min(size, count - at);
    Tensor logits = buffer;
    const Meta chunk{{some, width}, made};
    if (!direct) {
      Tensor input, turned;
      if (rows.element != made) input = tape.empty("hidden.chunk", chunk);
      if (weight.element != made) turned = tape.empty("head.turned", {weight.shape, made});
      logits = tape.empty("logits.chunk", {{some, vocabulary}, made});
    }
    tape.multiply();
    if (!direct) {
      const Tensor narrow = run.autocast_weight(weight, "head");
      const Tensor grad = tape.empty("hidden.chunk_grad", chunk);
      tape.multiply();
    } else {
      tape.multiply();
    }
    if (!trained) continue;
    const bool adds_in_place = made != Element::fp32;
    Tensor part;
    if (adds_in_place && rows.element != made) part = tape.empty("hidden.chunk", chunk);
    if (!adds_in_place) part = tape.empty("head.weight_grad_chunk", weight);
    tape.multiply();
  }
  buffer = {};
  Tensors saved = {hidden_grad};
  if (trained) saved.push_back(weight_grad);
  return tape.connect(tape.empty("loss", {{1}, Element::fp32}), {rows, weight}, saved,
                      [](Tape&, const Tensor&, const Node& node) -> Tensors {
                        Tensors grads(2);
                        grads[0] = node.saved[0];
                        if (node.wants(1)) grads[1] = node.saved[1];
                        return grads;
                      });
}

}  // namespace headroom::estimate::transformers
