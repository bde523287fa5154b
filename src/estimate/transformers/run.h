// SPDX-License-Identifier: Apache-2.0
// What every part of a transformers step needs to know of the run it is part of.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "estimate/job.h"
#include "estimate/models/architecture.h"
#include "estimate/ops.h"
#include "estimate/tape.h"
#include "estimate/transformers/image_size.h"
#include "estimate/transformers/version.h"

namespace headroom::estimate::transformers {

// Liger's kernels that a model runs with (liger.h).
struct LigerKernels {
  bool rope = false;
  bool norm = false;
  bool norm_in_place = false;
  bool glu = false;
  bool fused_loss = false;
  bool cross_entropy = false;
};

struct Run {
  Tape& tape;
  const Job& job;
  Version version;  // Of transformers.
  Version torch;
  std::uint64_t batch = 1;
  PatchGrid grid = {};  // Of each image or tile.
  std::optional<Tiles> tiles = {};
  bool has_flash = true;  // The device: PyTorch takes it for half types wherever there is no mask.

  // Whether the weights that are being made are trained themselves.
  bool full() const { return job.method.kind == MethodKind::full && !frozen && !reference; }
  bool trains() const { return job.method.kind != MethodKind::inference; }
  bool adapters() const {
    return job.method.kind == MethodKind::lora || job.method.kind == MethodKind::qlora;
  }
  Element compute() const { return element_of(job.compute.dtype); }
  // What plain weights are held in: of quantised models, what is not quantised.
  Element weights() const {
    return element_of(plain_type(job.method.base).value_or(job.compute.dtype));
  }
  // Of norms: PEFT's k-bit preparation makes them fp32, and the residual stream with them.
  Element norms() const {
    const Element residual = element_of(job.compute.residual);
    return size_of(residual) > size_of(weights()) ? residual : weights();
  }
  Element embeddings() const {
    return job.compute.embeddings == job.compute.dtype ? weights()
                                                       : element_of(job.compute.embeddings);
  }

  // Whether fused kernels are given T5's positions; if not, they rule those kernels out.
  bool positions_as_mask(const AttentionShape& shape) const {
    return shape.relative && version >= common_t5_attention &&
           *job.compute.attention != Attention::eager && *job.compute.attention != Attention::math;
  }

  bool autocasts() const { return job.compute.autocast && !without_autocast; }
  // What torch.autocast makes of an operand of a product: x in compute.dtype.
  Tensor autocast(const Tensor& x, Name name) const {
    return autocasts() ? ops::cast(tape, x, compute(), name) : x;
  }
  // The same for a weight. Those that are trained are cast once in a forward (the autocast cache,
  // aten/src/ATen/autocast_mode.cpp, cached_cast); frozen ones each time.
  Tensor autocast_weight(const Tensor& weight, Name name);
  // autocast's list of operations that run in fp32 (softmax, layer_norm, pow …).
  Tensor autocast_to_fp32(const Tensor& x, Name name) const {
    return autocasts() ? ops::cast(tape, x, Element::fp32, name) : x;
  }
  void clear_autocast_cache() { casts.clear(); }
  // A model's own dropout, which only training has.
  Tensor dropout(const Tensor& x, double probability, Name name) const {
    return trains() && !without_dropout ? ops::dropout(tape, x, probability, name) : x;
  }

  bool frozen = false;  // The part that is being made is not trained (method.freeze_…).
  std::map<std::uint32_t, Tensor> casts;  // By the id of what was cast.
  std::uint64_t largest_quantised = 0;    // Elements of the largest quantised weight.
  // Of preference training: a second model that nothing is trained of, adapters that are passed by,
  // TRL's disable_dropout or a pass in eval mode, and a pass outside of accelerate's autocast.
  bool reference = false;
  bool without_adapters = false;
  bool without_dropout = false;
  bool without_autocast = false;
  LigerKernels liger = {};
  std::uint64_t multiprocessors = 1;  // Of the device.
  bool adapted = false;               // A module has got an adapter.
  // The weights of nn.Embedding, by the ids of their tensors.
  std::set<std::uint32_t> tables = {};
};

}  // namespace headroom::estimate::transformers
