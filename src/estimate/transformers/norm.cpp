// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/norm.h"

#include <optional>

#include "estimate/transformers/liger.h"

namespace headroom::estimate::transformers {
namespace {

// LlamaRMSNorm: narrowed, then times the weight. GemmaRMSNorm: times (1 + weight), then narrowed.
Tensor eager_rms_norm(Run& run, const NormWeights& norm, const Tensor& x) {
  Tape& tape = run.tape;
  const Scope scope(tape, norm.name);
  Tensor wide = ops::cast(tape, x, Element::fp32, "fp32");
  const Tensor variance = ops::mean_last(tape, ops::square(tape, wide, "squared"), "variance");
  if (norm.kind.keeps_input) wide = x;
  wide = ops::mul(tape, wide, ops::rsqrt(tape, variance, "rsqrt"), "normalized");
  if (norm.kind.wide_weight)
    return ops::cast(tape, ops::mul(tape, norm.weight, wide, "scaled"), x.element, "output");
  if (!norm.kind.unit_offset)
    return ops::mul(tape, norm.weight, ops::cast(tape, wide, x.element, "narrow"), "output");
  const Tensor weight = ops::scale(tape, ops::cast(tape, norm.weight, Element::fp32, "weight.fp32"),
                                   "weight.plus_one");
  wide = ops::mul(tape, wide, weight, "scaled");
  return ops::cast(tape, wide, x.element, "output");
}

// CohereLayerNorm.
Tensor layer_norm_by_hand(Run& run, const NormWeights& norm, const Tensor& x) {
  Tape& tape = run.tape;
  const Scope scope(tape, norm.name);
  Tensor wide = ops::cast(tape, x, Element::fp32, "fp32");
  const Tensor mean = ops::mean_last(tape, wide, "mean");
  const Tensor variance = ops::mean_last(
      tape, ops::square(tape, ops::add(tape, wide, mean, "centred"), "squared"), "variance");
  wide = ops::mul(tape, ops::add(tape, wide, mean, "centred"), ops::rsqrt(tape, variance, "rsqrt"),
                  "normalized");
  wide = ops::mul(tape, ops::cast(tape, norm.weight, Element::fp32, "weight.fp32"), wide, "scaled");
  return ops::cast(tape, wide, x.element, "output");
}

// OlmoLayerNorm.
Tensor layer_norm_of_copy(Run& run, const NormWeights& norm, const Tensor& x) {
  const Tensor wide = ops::cast(run.tape, x, Element::fp32, norm.name + ".fp32");
  const Tensor y = ops::layer_norm(run.tape, wide, std::nullopt, std::nullopt, norm.name);
  return ops::cast(run.tape, y, x.element, norm.name + ".narrow");
}

// NemotronLayerNorm1P: autocast is off inside, after it has narrowed what goes in.
Tensor layer_norm_of_made_weight(Run& run, const NormWeights& norm, const Tensor& x) {
  const Tensor weight = ops::scale(run.tape, norm.weight, norm.name + ".weight.plus_one");
  std::optional<Tensor> bias = norm.bias;
  if (bias) bias = run.autocast(*bias, norm.name + ".bias.narrow");
  return ops::layer_norm(run.tape, run.autocast(x, norm.name + ".input"),
                         run.autocast(weight, norm.name + ".weight.narrow"), bias, norm.name);
}

}  // namespace

NormWeights make_norm(Run& run, Name name, const Norm& norm, std::uint64_t width) {
  NormWeights weights{name, {}, norm, {}};
  if (norm.weightless) return weights;
  const Meta meta{{width}, run.norms()};
  weights.weight = run.tape.parameter(name + ".weight", meta, Component::weights, run.full());
  if (norm.kind == NormKind::layer && norm.bias)
    weights.bias = run.tape.parameter(name + ".bias", meta, Component::weights, run.full());
  return weights;
}

Tensor apply(Run& run, const NormWeights& norm, const Tensor& x) {
  if (norm.kind.by_hand) return layer_norm_by_hand(run, norm, x);
  if (norm.kind.weightless) return layer_norm_of_copy(run, norm, x);
  if (norm.kind.weight_made) return layer_norm_of_made_weight(run, norm, x);
  if (norm.kind.kind == NormKind::layer) {
    return ops::layer_norm(run.tape, run.autocast_to_fp32(x, norm.name + ".input"), norm.weight,
                           norm.bias, norm.name);
  }
  if (run.job.compute.norm == NormKernel::fused)
    return ops::fused_rms_norm(run.tape, x, norm.weight, norm.name);
  if (run.liger.norm) return liger_rms_norm(run, x, norm.weight, norm.name);
  return eager_rms_norm(run, norm, x);
}

}  // namespace headroom::estimate::transformers
