// SPDX-License-Identifier: Apache-2.0
// The layers that diffusers' models are made of, without gradients: each makes what PyTorch's own
// makes, and its input lives as long as the caller holds it, as a Python call's arguments do.
#pragma once

#include <cstdint>
#include <optional>

#include "estimate/diffusion/parameters.h"
#include "estimate/ops.h"

namespace headroom::estimate::diffusion {

// Which kernel scaled_dot_product_attention has on the device.
enum class Kernel : std::uint8_t { math, efficient, flash };

// How an attention layer computes: scaled_dot_product_attention, diffusers' AttnProcessor, or that
// in slices (enable_attention_slicing).
enum class Processor : std::uint8_t { sdpa, eager, sliced_half, sliced_one };

// One model of a pipeline while it runs.
struct Model {
  Tape& tape;
  Weights& weights;
  Kernel kernel = Kernel::flash;
  Processor processor = Processor::sdpa;
  bool unfolds = false;  // Convolutions take the workspace of an unfolded input.
};

// Feature maps [images, channels, height, width]. Behind an attention block their channels lie
// innermost in memory, and what works plane by plane copies them first.
struct Maps : Tensor {
  bool channels_last = false;

  // The same without how it lies in memory.
  const Tensor& tensor() const { return *this; }
};
Maps maps(Tensor tensor, bool channels_last = false);

struct Linear {
  Name name;
  Parameter* weight = nullptr;  // [out, in]
  Parameter* bias = nullptr;    // Or none.
};
struct LinearShape {
  std::uint64_t in = 0, out = 0;
  bool bias = true;
};
Linear make_linear(Weights& weights, Name name, const LinearShape& shape);
Tensor apply(const Model& model, const Linear& linear, const Tensor& x);
// Of rows that lie in another order in memory (a transposed image): several samples are copied.
Tensor apply_turned(const Model& model, const Linear& linear, const Tensor& x);

struct Convolution {
  Name name;
  Parameter* weight = nullptr;  // [out, in, kernel, kernel]
  Parameter* bias = nullptr;
  std::uint64_t stride = 1;
};
struct ConvolutionShape {
  std::uint64_t in = 0, out = 0, kernel = 3, stride = 1;
};
Convolution make_convolution(Weights& weights, Name name, const ConvolutionShape& shape);
Maps apply(const Model& model, const Convolution& convolution, const Maps& x);

struct Norm {
  Name name;
  Parameter* weight = nullptr;  // Both may be none.
  Parameter* bias = nullptr;
  std::uint64_t groups = 0;  // Of a GroupNorm.
};
Norm make_norm(Weights& weights, Name name, std::uint64_t width, std::uint64_t groups = 0);
Norm make_plain_norm(Name name);  // A LayerNorm without weights.
Norm make_rms_norm(Weights& weights, Name name, std::uint64_t width);
// GroupNorm: [images, channels, …].
Maps normalise_groups(const Model& model, const Norm& norm, const Maps& x);
// LayerNorm over the last dimension; `turned` as for apply_turned.
Tensor normalise(const Model& model, const Norm& norm, const Tensor& x, bool turned = false);
// diffusers' RMSNorm, T5's LayerNorm: written out in fp32.
Tensor normalise_rms(const Model& model, const Norm& norm, const Tensor& x);

Maps add(const Model& model, const Maps& a, const Tensor& b, Name name);
Maps scale(const Model& model, const Maps& x, Name name);
// F.interpolate(mode = "nearest").
Maps resize(const Model& model, const Maps& x, std::uint64_t height, std::uint64_t width);

}  // namespace headroom::estimate::diffusion
