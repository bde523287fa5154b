// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/stack.h"

#include <algorithm>
#include <utility>

namespace headroom::estimate::transformers {
namespace {

// The projections of a layer that the job's targets name: a fused one if any of its parts is named.
std::vector<Linear*> targets_in(Layer& layer, const std::vector<Target>& targets) {
  std::vector<Linear*> found;
  const auto add = [&found](std::optional<Linear>& linear) {
    if (linear && std::find(found.begin(), found.end(), &*linear) == found.end())
      found.push_back(&*linear);
  };
  const auto of_attention = [&](AttentionLayer& attention, Target target) {
    if (target == Target::o) return add(attention.o);
    if (attention.qkv) return add(attention.qkv);
    add(target == Target::q ? attention.q : target == Target::k ? attention.k : attention.v);
  };
  const auto of_mlp = [&](Mlp& mlp, Target target) {
    if (target == Target::down) return add(mlp.down);
    if (mlp.gate_up) return add(mlp.gate_up);
    add(target == Target::gate ? mlp.gate : mlp.up);
  };
  for (const Target target : targets) {
    if (target <= Target::o) {
      of_attention(layer.attention, target);
      if (layer.cross) of_attention(*layer.cross, target);
      continue;
    }
    if (layer.mlp) of_mlp(*layer.mlp, target);
    if (!layer.experts) continue;
    for (Mlp& expert : layer.experts->experts) of_mlp(expert, target);
    if (layer.experts->shared) of_mlp(*layer.experts->shared, target);
  }
  return found;
}

// In the order in which a layer uses them.
std::vector<const std::string*> norm_names(const Stack& stack) {
  const ModuleNames& names = stack.names;
  if (stack.placement == NormPlacement::parallel_one) return {&names.first_norm};
  if (stack.placement == NormPlacement::around)
    return {&names.first_norm, &names.first_post_norm, &names.second_norm, &names.second_post_norm};
  if (stack.placement == NormPlacement::behind)
    return {&names.first_post_norm, &names.second_post_norm};
  if (stack.cross_attention) return {&names.first_norm, &names.cross_norm, &names.second_norm};
  return {&names.first_norm, &names.second_norm};
}

}  // namespace

StackModules::StackModules(Run& run, const Stack& stack)
    : run_(run),
      stack_(stack),
      layers_name_(run.tape.intern(stack.names.layers)),
      attention_name_(run.tape.intern(stack.names.attention)),
      mlp_name_(run.tape.intern(stack.names.mlp)),
      cross_name_(run.tape.intern(stack.names.cross_attention)) {
  if (stack.relative_buckets > 0) {
    relative_bias_ =
        run.tape.parameter("relative_attention_bias.weight",
                           {{stack.relative_buckets, stack.attention.heads}, run.weights()},
                           Component::weights, run.full());
  }
  const auto& [each_layer, rows, major, minor] = stack.mask_buffers;
  if (run.version < Version{major, minor}) {
    const Meta square{{rows, rows}, Element::uint8};
    for (std::uint64_t i = 0; i < (each_layer ? stack.layers : 1); ++i)
      mask_buffers_.push_back(run.tape.empty("attn.bias", square, Component::other));
  }
  layers_.reserve(stack.layers);
  const std::uint64_t used = stack.chosen_layers > 0 ? stack.chosen_layers : stack.layers;
  for (std::uint64_t i = 0; i < used; ++i) layers_.push_back(make_layer(i));
  const std::size_t trained = run.tape.trainable().size();
  for (std::uint64_t i = used; i < stack.layers; ++i) layers_.push_back(make_layer(i));
  if (stack.final_norm)
    final_norm_ = make_norm(run, run.tape.intern(stack.names.final_norm), stack.norm, stack.hidden);
  // What nothing is made of gets no gradient, and so no optimizer looks at it.
  if (stack.chosen_layers > 0) run.tape.trainable().resize(trained);
}

Layer StackModules::make_layer(std::uint64_t index) {
  const Scope scope(run_.tape, layers_name_, index);
  Layer layer;
  {
    const Scope attention(run_.tape, attention_name_);
    layer.attention = make_attention(run_, stack_, stack_.attention);
  }
  if (stack_.cross_attention) {
    const Scope cross(run_.tape, cross_name_);
    layer.cross = make_attention(run_, stack_, stack_.attention);
  }
  if (stack_.experts && stack_.experts->in_layer(index)) {
    layer.experts = make_experts(run_, stack_);
  } else {
    const Scope mlp(run_.tape, mlp_name_);
    layer.mlp = make_mlp(run_, stack_, stack_.mlp);
  }
  for (const std::string* name : norm_names(stack_)) {
    if (index == 0 && stack_.first_norm_skipped && name == &stack_.names.first_norm) continue;
    layer.norms.push_back(make_norm(run_, run_.tape.intern(*name), stack_.norm, stack_.hidden));
  }
  return layer;
}

void StackModules::attach_adapters(const std::vector<Target>& targets) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Scope scope(run_.tape, layers_name_, i);
    for (Linear* linear : targets_in(layers_[i], targets)) attach_adapter(run_, *linear);
  }
}

Shared StackModules::make_shared(const Tensor& x, const Pass& pass) {
  Tape& tape = run_.tape;
  const std::uint64_t tokens = x.shape[1];
  std::uint64_t keys = tokens;
  if (pass.cache != nullptr && !pass.cache->empty() && pass.cache->front().keys.defined())
    keys += pass.cache->front().keys.shape[2];
  Shared shared;
  shared.causal = stack_.causal;
  shared.dropout = stack_.dropout.attention;
  const AttentionShape& attention = stack_.attention;
  if (stack_.positions == Positions::rotary) {
    const auto width =
        static_cast<std::uint64_t>(static_cast<double>(attention.head_dim) * attention.rotary_part);
    const Meta angles{{stack_.angles_by_sample ? x.shape[0] : 1, tokens,
                       std::max<std::uint64_t>(2, width / 2 * 2)},
                      attention.by_image ? Element::fp32 : x.element};
    shared.cos = tape.empty("cos", angles);
    shared.sin = tape.empty("sin", angles);
  }
  shared.both_ways = pass.both_ways;
  if (pass.both_ways) {
    add_image_masks(shared, {x.shape[0], 1, tokens, keys}, x.element);
    return shared;
  }
  add_positions(shared, {x.shape[0], attention.heads, tokens, keys}, x.element);
  add_mask(shared, {x.shape[0], 1, tokens, keys}, x.element);
  add_window_mask(shared, {x.shape[0], 1, tokens, keys}, x.element);
  return shared;
}

// What is added to the scores [batch, heads, queries, keys] for their places. T5 adds its mask to
// it until transformers 5, and then has one for each sample.
void StackModules::add_positions(Shared& shared, const Shape& scores, Element element) {
  Tape& tape = run_.tape;
  Shape shape = scores;
  if (relative_bias_) {
    if (run_.version >= narrow_t5_softmax) shape[0] = 1;
    shared.bias = ops::positions_from(tape, *relative_bias_, {shape, element});
    if (stack_.cross_attention) shared.cross_bias = tape.empty("cross_positions", {shape, element});
  } else if (stack_.positions == Positions::alibi) {
    shape[2] = 1;
    shared.bias = tape.empty("alibi", {shape, element});
  }
}

void StackModules::add_mask(Shared& shared, Shape shape, Element element) {
  Tape& tape = run_.tape;
  const Attention kernel = *run_.job.compute.attention;
  const AttentionShape& attention = stack_.attention;
  const bool capped = attention.soft_cap;
  if (stack_.role == Stack::Role::vision) return;  // Every image is whole.
  if (attention.multihead) shape[0] = 1;  // One for all samples, whether the kernel asks or not.
  const bool has_positions =
      shared.bias && !(attention.relative && run_.version >= narrow_t5_softmax);
  if (has_positions) return;
  const bool wanted = kernel == Attention::eager || kernel == Attention::sdpa_mask || capped ||
                      attention.multihead || attention.relative;
  const bool padded = kernel == Attention::sdpa_mask || run_.job.compute.padding;
  if (!wanted || (!stack_.causal && !padded)) return;
  const bool bools = kernel == Attention::sdpa_mask && run_.version >= bool_masks && !capped &&
                     !attention.multihead && !attention.relative;
  shared.mask = tape.empty("attention_mask", {shape, bools ? Element::uint8 : element});
}

// Layers that look back at fewer tokens than there are have a mask of their own, whatever the
// others have: PyTorch's own kernels know no window.
void StackModules::add_window_mask(Shared& shared, const Shape& shape, Element element) {
  const Attention kernel = *run_.job.compute.attention;
  if (stack_.role == Stack::Role::vision) return;
  if (kernel == Attention::math || run_.job.compute.own_windows) return;
  const bool has_one = kernel == Attention::eager || kernel == Attention::sdpa_mask;
  std::uint64_t narrower = 0;
  for (std::uint64_t i = 0; i < stack_.layers; ++i) narrower += is_windowed(i, shape[3]) ? 1 : 0;
  // Where every layer has the window there is one mask, and these two have that already.
  if (narrower == 0 || (has_one && narrower == stack_.layers)) return;
  const bool capped = stack_.attention.soft_cap;
  const bool bools = kernel != Attention::eager && !capped && run_.version >= bool_masks;
  Shape stored = shape;
  const bool padded = kernel == Attention::sdpa_mask || run_.job.compute.padding;
  if (bools && !padded) stored[0] = 1;  // The others are the same one (expand).
  shared.window_mask = run_.tape.empty("window_mask", {stored, bools ? Element::uint8 : element});
  shared.window_mask->shape = shape;
}

// modeling_gemma3.py, create_masks_for_vision_model: one for all tokens, one for the window.
void StackModules::add_image_masks(Shared& shared, const Shape& shape, Element element) {
  const bool bools = *run_.job.compute.attention != Attention::eager && run_.version >= bool_masks;
  const Meta mask{shape, bools ? Element::uint8 : element};
  shared.mask = run_.tape.empty("attention_mask", mask);
  if (!stack_.windows.empty()) shared.window_mask = run_.tape.empty("window_mask", mask);
}

bool StackModules::is_windowed(std::uint64_t layer, std::uint64_t tokens) const {
  const std::uint64_t window = stack_.window(layer);
  // masking_utils.py, _ignore_causal_mask_sdpa: there also where it is just as wide.
  return window > 0 && (tokens > window || (tokens == window && run_.job.compute.by_pytorch));
}

Tensor StackModules::forward(Tensor x, const Pass& pass) {
  const Shared shared = make_shared(x, pass);
  const bool checkpointing =
      run_.job.compute.checkpointing == Checkpointing::layer && run_.trains();
  for (std::uint64_t i = 0; i < layers_.size(); ++i) {
    const bool chosen = pass.chosen != nullptr && i > 0 && i == stack_.chosen_layers;
    if (chosen) *pass.chosen = x;
    if (!checkpointing) {
      x = run_layer(i, shared, x, pass);
      continue;
    }
    std::vector<Tensor> inputs = {x};
    if (pass.memory) inputs.push_back(*pass.memory);
    if (shared.bias) inputs.push_back(*shared.bias);
    x = ops::checkpoint(
        run_.tape, inputs,
        [this, i, shared](Tape&, const std::vector<Tensor>& given) {
          Shared own = shared;
          Pass again;
          std::size_t next = 1;
          if (layers_[i].cross) again.memory = given[next++];
          if (own.bias) own.bias = given[next];
          Tensor y = run_layer(i, own, given[0], again);
          // The recomputation opens autocast anew, and its cache ends with it.
          if (run_.tape.in_backward()) run_.clear_autocast_cache();
          return y;
        },
        run_.job.compute.reentrant);
  }
  named_ = {};
  if (stack_.final_norm_of_class) {
    const Tensor pooled = apply(run_, *final_norm_, Tape::view(x, {x.shape[0], 1, x.shape[2]}));
    return x;
  }
  if (final_norm_) x = apply(run_, *final_norm_, x);
  return run_.dropout(x, stack_.dropout.output, "output.dropped");
}

Tensor StackModules::run_layer(std::uint64_t index, const Shared& shared, const Tensor& x,
                               const Pass& pass) {
  const Scope scope(run_.tape, "layers", index);
  const bool parallel = stack_.placement == NormPlacement::parallel_one ||
                        stack_.placement == NormPlacement::parallel_two;
  return parallel ? run_parallel(index, shared, x, pass) : run_serial(index, shared, x, pass);
}

AttentionInput StackModules::attention_input(std::uint64_t index, const Tensor& x,
                                             const Pass& pass) const {
  AttentionInput input;
  input.x = x;
  input.cache = pass.cache == nullptr ? nullptr : &(*pass.cache)[index];
  input.window = stack_.window(index);
  input.turns = stack_.turns(index);
  if (stack_.attention.by_image) {
    input.pieces = pieces_of(run_.grid, stack_.input.merge, stack_.window(index));
    const std::uint64_t images = x.shape[1] / run_.grid.patches();
    for (Piece& piece : input.pieces) piece.count *= images;
    return input;
  }
  input.windowed = is_windowed(index, x.shape[1]);
  return input;
}

Tensor StackModules::attend(const Layer& layer, const Shared& shared, const AttentionInput& input) {
  const Scope scope(run_.tape, input.memory ? cross_name_ : attention_name_);
  return apply(run_, input.memory ? *layer.cross : layer.attention, shared, input);
}

Tensor StackModules::feed_forward(const Layer& layer, const Tensor& x, Tensor* inner) {
  if (layer.experts) return apply(run_, *layer.experts, x);
  const Scope scope(run_.tape, mlp_name_);
  return apply(run_, *layer.mlp, x, inner);
}

Tensor StackModules::run_serial(std::uint64_t index, const Shared& shared, const Tensor& x,
                                const Pass& pass) {
  const Layer& layer = layers_[index];
  Tape& tape = run_.tape;
  const bool after = stack_.placement == NormPlacement::after;
  const bool behind = stack_.placement == NormPlacement::behind;
  const bool before = !after && !behind;
  const bool ends = behind || stack_.placement == NormPlacement::around;
  std::size_t norm = 0;
  bool bare = index == 0 && stack_.first_norm_skipped;
  // One half: x + f(norm(x)), with the norm where the family has it.
  const auto half = [&](const Tensor& in, double dropout, Name name, const auto& function) {
    Tensor hidden = before && !bare ? apply(run_, layer.norms[norm++], in) : in;
    bare = false;
    hidden = function(hidden);
    hidden = run_.dropout(hidden, dropout, "dropped");
    if (ends) hidden = apply(run_, layer.norms[norm++], hidden);
    if (stack_.residual_scaled) hidden = ops::scale(tape, hidden, "residual_scaled");
    const Tensor branch = stack_.mlp.names_inner ? hidden : Tensor{};
    hidden = ops::add(tape, in, hidden, name);
    return after ? apply(run_, layer.norms[norm++], hidden) : hidden;
  };
  const double dropout = stack_.dropout.residual;
  Tensor weights;  // Of eager attention: a name of the layer's holds them until it ends.
  const double attended = stack_.dropout.after_attention ? dropout : 0;
  Tensor hidden = half(x, attended, "attention_residual", [&](const Tensor& in) {
    AttentionInput input = attention_input(index, in, pass);
    input.weights = &weights;
    return attend(layer, shared, input);
  });
  if (layer.cross) {
    hidden = half(hidden, dropout, "cross_attention_residual", [&](const Tensor& in) {
      AttentionInput input;
      input.x = in;
      input.memory = pass.memory;
      input.cache = pass.cross_cache == nullptr ? nullptr : &(*pass.cross_cache)[index];
      input.weights = &weights;
      Shared other = shared;
      other.bias = shared.cross_bias;
      other.mask.reset();
      other.causal = false;
      return attend(layer, other, input);
    });
  }
  if (stack_.attention.names_scores) named_ = weights;
  Tensor inner;
  return half(hidden, dropout, "mlp_residual",
              [&](const Tensor& in) { return feed_forward(layer, in, &inner); });
}

Tensor StackModules::run_parallel(std::uint64_t index, const Shared& shared, const Tensor& x,
                                  const Pass& pass) {
  const Layer& layer = layers_[index];
  Tape& tape = run_.tape;
  const Tensor normed = apply(run_, layer.norms[0], x);
  const Tensor other = layer.norms.size() > 1 ? apply(run_, layer.norms[1], x) : normed;
  Tensor weights;
  AttentionInput input = attention_input(index, normed, pass);
  input.weights = &weights;
  const Tensor attended = attend(layer, shared, input);
  const Tensor fed =
      run_.dropout(feed_forward(layer, other), stack_.dropout.residual, "mlp.dropped");
  return ops::add(tape, ops::add(tape, attended, fed, "halves"), x, "residual");
}

}  // namespace headroom::estimate::transformers
