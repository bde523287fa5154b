// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/layer_targets.h"

#include <algorithm>
#include <optional>

namespace headroom::estimate::transformers {

std::vector<Linear*> targets_in(Layer& layer, const std::vector<Target>& targets, bool all_linear) {
  std::vector<Linear*> found;
  const auto add = [&found](std::optional<Linear>& linear) {
    if (linear && std::find(found.begin(), found.end(), &*linear) == found.end())
      found.push_back(&*linear);
  };
  const auto of_attention = [&](AttentionLayer& attention, Target target) {
    if (target == Target::o) return add(attention.o);
    if (attention.qkv) return add(attention.qkv);
    if (target == Target::q) add(attention.q_narrow);
    add(target == Target::q ? attention.q : target == Target::k ? attention.k : attention.v);
  };
  const auto of_mlp = [&](Mlp& mlp, Target target) {
    if (target == Target::down) return add(mlp.down);
    if (mlp.gate_up) return add(mlp.gate_up);
    add(target == Target::gate ? mlp.gate : mlp.up);
  };
  if (all_linear && layer.delta_net) {
    DeltaNetLayer& mixer = *layer.delta_net;
    for (auto* each : {&mixer.qkv, &mixer.gate, &mixer.beta, &mixer.step, &mixer.out}) add(*each);
  }
  if (layer.mamba2) {
    if (all_linear) add(layer.mamba2->in);
    if (all_linear) add(layer.mamba2->out);
  }
  if (layer.short_convolution) {
    if (all_linear) add(layer.short_convolution->in);
    // Its name, out_proj, is that of attention's last matrix as well.
    if (std::find(targets.begin(), targets.end(), Target::o) != targets.end())
      add(layer.short_convolution->out);
  }
  if (all_linear && layer.experts) add(layer.experts->shared_gate);
  for (const Target target : targets) {
    if (!is_in_layers(target)) continue;
    if (layer.state_space) {
      StateSpaceLayer& mixer = *layer.state_space;
      if (target == Target::q) add(mixer.in);
      if (target == Target::k) add(mixer.parts);
      if (target == Target::o) add(mixer.out);
      continue;
    }
    if (target <= Target::o) {
      of_attention(layer.attention, target);
      if (layer.cross) of_attention(*layer.cross, target);
      continue;
    }
    if (layer.mlp) of_mlp(*layer.mlp, target);
    if (!layer.experts) continue;
    for (Mlp& expert : layer.experts->each) of_mlp(expert, target);
    if (layer.experts->shared) of_mlp(*layer.experts->shared, target);
  }
  return found;
}

}  // namespace headroom::estimate::transformers
