// SPDX-License-Identifier: Apache-2.0
// A stack of transformer layers: its weights, and one pass through it.
#pragma once

#include <optional>
#include <vector>

#include "estimate/transformers/attention.h"
#include "estimate/transformers/delta_net.h"
#include "estimate/transformers/mamba2.h"
#include "estimate/transformers/mlp.h"
#include "estimate/transformers/short_convolution.h"
#include "estimate/transformers/state_space.h"

namespace headroom::estimate::transformers {

struct Layer {
  std::vector<NormWeights> norms;  // In the order in which they are used.
  AttentionLayer attention;
  std::optional<AttentionLayer> cross;
  std::optional<Mlp> mlp;
  std::optional<ExpertLayer> experts;
  std::optional<DeltaNetLayer> delta_net;  // In the place of attention, as the next one.
  std::optional<ShortConvolutionLayer> short_convolution;
  std::optional<Mamba2Layer> mamba2;
  std::optional<StateSpaceLayer> state_space;  // In the place of all others but the norm.
  std::vector<Tensor> scales;  // [hidden], one for each half, where the stack has such.
};

// What a pass is given beside its input.
struct Pass {
  std::optional<Tensor> memory;              // Cross attention looks at it.
  std::vector<LayerCache>* cache = nullptr;  // One for each layer.
  std::vector<LayerCache>* cross_cache = nullptr;
  bool both_ways = false;    // Of images among the text: no layer is without a mask.
  Tensor* chosen = nullptr;  // Is given what Stack::chosen_layers asks for, where it asks.
};

class StackModules {
 public:
  // Makes its weights; `stack` outlives this.
  StackModules(Run& run, const Stack& stack);

  void attach_adapters(const std::vector<Target>& targets);
  bool has(Target target);  // A layer has modules that the target names.
  // x [batch, tokens, hidden] → the same shape, after the final norm.
  Tensor forward(Tensor x, const Pass& pass);

 private:
  Layer make_layer(std::uint64_t index);
  Shared make_shared(const Tensor& x, const Pass& pass);
  void add_angles(Shared& shared, const Tensor& x);
  void add_positions(Shared& shared, const Shape& scores, std::uint64_t seen, Element element);
  void add_window_mask(Shared& shared, const Shape& shape, Element element);
  void add_image_masks(Shared& shared, const Shape& shape, Element element);
  bool is_windowed(std::uint64_t layer, std::uint64_t tokens) const;
  void add_mask(Shared& shared, Shape shape, Element element);
  void add_masks_beside_positions(Shared& shared, Shape shape, std::uint64_t seen);
  Tensor run_layer(std::uint64_t index, const Shared& shared, const Tensor& x, const Pass& pass);
  void make_mixer(Layer& layer, std::uint64_t index);
  Name scope_of(std::uint64_t layer) const;
  Tensor mix(std::uint64_t index, const Shared& shared, const AttentionInput& input);
  Tensor mix_both(std::uint64_t index, const Shared& shared, const AttentionInput& input,
                  std::vector<Tensor>& named);
  Tensor attend(const Layer& layer, const Shared& shared, const AttentionInput& input);
  Tensor scale_branch(const Layer& layer, std::size_t half, const Tensor& x);
  Tensor feed_forward(const Layer& layer, const Tensor& x, Tensor* inner = nullptr);
  Tensor run_serial(std::uint64_t index, const Shared& shared, const Tensor& x, const Pass& pass);
  Tensor run_single(std::uint64_t index, const Shared& shared, const Tensor& x, const Pass& pass);
  Tensor run_parallel(std::uint64_t index, const Shared& shared, const Tensor& x, const Pass& pass);
  AttentionInput attention_input(std::uint64_t index, const Tensor& x, const Pass& pass) const;

  Tensor named_;  // BLOOM, MPT: the loop over layers has a name for the last probabilities.
  Run& run_;
  const Stack& stack_;
  Name layers_name_;
  Name attention_name_;
  Name mlp_name_;
  Name cross_name_;
  std::vector<Layer> layers_;
  std::optional<NormWeights> final_norm_;
  std::vector<Tensor> mask_buffers_;
  std::optional<Tensor> relative_bias_;  // T5: [buckets, heads]
};

}  // namespace headroom::estimate::transformers
