// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/stack.h"

#include <algorithm>
#include <utility>

#include "estimate/transformers/layer_targets.h"

namespace headroom::estimate::transformers {
namespace {

// In the order in which a layer uses them.
std::vector<const std::string*> norm_names(const Stack& stack) {
  const ModuleNames& names = stack.names;
  if (stack.placement == NormPlacement::parallel_one || stack.single_halves)
    return {&names.first_norm};
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
    run.tables.insert(relative_bias_->storage->tensor());
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
  if (stack_.state_space) {
    const Scope mixer(run_.tape, attention_name_);
    layer.state_space = make_state_space(run_, stack_);
    layer.norms.push_back(
        make_norm(run_, run_.tape.intern(stack_.names.first_norm), stack_.norm, stack_.hidden));
    return layer;
  }
  make_mixer(layer, index);
  if (stack_.cross_attention) {
    const Scope cross(run_.tape, cross_name_);
    layer.cross = make_attention(run_, stack_, stack_.attention);
  }
  if (stack_.experts && stack_.experts->in_layer(index)) {
    layer.experts = make_experts(run_, stack_);
  } else if (stack_.feeds_forward(index)) {
    const Scope mlp(run_.tape, mlp_name_);
    layer.mlp = make_mlp(run_, stack_, stack_.mlp);
  }
  for (std::size_t half = 0; stack_.layer_scale && half < 2; ++half)
    layer.scales.push_back(run_.tape.parameter("layer_scale", {{stack_.hidden}, run_.weights()},
                                               Component::weights, run_.full()));
  for (const std::string* name : norm_names(stack_)) {
    if (index == 0 && stack_.first_norm_skipped && name == &stack_.names.first_norm) continue;
    layer.norms.push_back(make_norm(run_, run_.tape.intern(*name), stack_.norm, stack_.hidden));
  }
  return layer;
}

void StackModules::make_mixer(Layer& layer, std::uint64_t index) {
  const Scope scope(run_.tape, scope_of(index));
  switch (stack_.mixer(index)) {
    case Mixer::attention:
      layer.attention = make_attention(run_, stack_, stack_.attention);
      return;
    case Mixer::delta_net:
      layer.delta_net = make_delta_net(run_, stack_);
      return;
    case Mixer::short_convolution:
      layer.short_convolution = make_short_convolution(run_, stack_);
      return;
    case Mixer::mamba2:
      layer.mamba2 = make_mamba2(run_, stack_);
      return;
    case Mixer::attention_beside_mamba2: {
      layer.attention = make_attention(run_, stack_, stack_.attention);
      const Scope beside(run_.tape, "mamba");
      layer.mamba2 = make_mamba2(run_, stack_);
      return;
    }
    case Mixer::feed_forward:
      return;
  }
}

Name StackModules::scope_of(std::uint64_t layer) const {
  switch (stack_.mixer(layer)) {
    case Mixer::attention:
    case Mixer::attention_beside_mamba2:
    case Mixer::feed_forward:
      break;
    case Mixer::delta_net:
      return "linear_attn";
    case Mixer::short_convolution:
      return "conv";
    case Mixer::mamba2:
      if (stack_.single_halves) break;
      return "mamba";
  }
  return attention_name_;
}

bool StackModules::has(Target target) {
  return std::any_of(layers_.begin(), layers_.end(), [&](Layer& layer) {
    return !targets_in(layer, {target}, /*all_linear=*/false).empty();
  });
}

void StackModules::attach_adapters(const std::vector<Target>& targets) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Scope scope(run_.tape, layers_name_, i);
    for (Linear* linear : targets_in(layers_[i], targets, run_.job.method.all_linear))
      attach_adapter(run_, *linear);
  }
}

Tensor StackModules::forward(Tensor x, const Pass& pass) {
  const Shared shared = make_shared(x, pass);
  // TRL turns it off where nothing is trained (disable_gradient_checkpointing).
  const bool checkpointing = run_.job.compute.checkpointing == Checkpointing::layer &&
                             run_.trains() && run_.tape.grad_enabled();
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
  if (stack_.state_space || stack_.single_halves) return run_single(index, shared, x, pass);
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

// The first half of a layer, whatever it is.
Tensor StackModules::mix(std::uint64_t index, const Shared& shared, const AttentionInput& input) {
  const Layer& layer = layers_[index];
  if (stack_.mixer(index) == Mixer::attention) return attend(layer, shared, input);
  const Scope scope(run_.tape, scope_of(index));
  Tensor x = input.x;
  const bool padded = shared.padding && x.shape[1] > 1;
  if (padded) x = without_padding(run_, x, *shared.padding);
  if (layer.mamba2)
    return apply(run_, *layer.mamba2, x, padded ? shared.padding : std::nullopt, input.cache);
  return layer.delta_net ? apply(run_, *layer.delta_net, x, input.cache)
                         : apply(run_, *layer.short_convolution, x, input.cache);
}

// Falcon-H1: both halves of the sum keep their names to the layer's end.
Tensor StackModules::mix_both(std::uint64_t index, const Shared& shared,
                              const AttentionInput& input, std::vector<Tensor>& named) {
  Tape& tape = run_.tape;
  const bool padded = shared.padding && input.x.shape[1] > 1;
  const auto scaled = [&](const Tensor& x, Name name) { return ops::scale(tape, x, name); };
  {
    const Scope scope(tape, "mamba");
    const Tensor x = padded ? without_padding(run_, input.x, *shared.padding) : input.x;
    named.push_back(scaled(
        apply(run_, *layers_[index].mamba2, x, padded ? shared.padding : std::nullopt, input.cache),
        "mamba.scaled"));
  }
  AttentionInput own = input;
  own.x = scaled(input.x, "attention.input_scaled");
  named.push_back(scaled(attend(layers_[index], shared, own), "attention.scaled"));
  return ops::add(tape, named[0], named[1], "mixed");
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

// DINOv2: what a half gives times a row, and of some samples nothing.
Tensor StackModules::scale_branch(const Layer& layer, std::size_t half, const Tensor& x) {
  if (layer.scales.empty()) return x;
  Tape& tape = run_.tape;
  Tensor scaled = ops::mul(tape, x, layer.scales[half], "layer_scaled");
  if (stack_.drop_path == 0 || !run_.trains()) return scaled;
  const Tensor kept = tape.empty("drop_path", {{x.shape[0], 1, 1}, x.element});
  return ops::mul(tape, ops::scale(tape, scaled, "layer_scaled.divided"), kept, "path_dropped");
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
  std::size_t branch_number = 0;
  bool bare = index == 0 && stack_.first_norm_skipped;
  // One half: x + f(norm(x)), with the norm where the family has it.
  const auto half = [&](const Tensor& in, double dropout, Name name, const auto& function) {
    Tensor hidden = before && !bare ? apply(run_, layer.norms[norm++], in) : in;
    bare = false;
    hidden = function(hidden);
    hidden = run_.dropout(hidden, dropout, "dropped");
    hidden = scale_branch(layer, branch_number++, hidden);
    if (ends) hidden = apply(run_, layer.norms[norm++], hidden);
    if (stack_.residual_scaled) hidden = ops::scale(tape, hidden, "residual_scaled");
    const Tensor branch = stack_.mlp.names_inner ? hidden : Tensor{};
    hidden = ops::add(tape, in, hidden, name);
    return after ? apply(run_, layer.norms[norm++], hidden) : hidden;
  };
  const double dropout = stack_.dropout.residual;
  Tensor weights;  // Of eager attention: a name of the layer's holds them until it ends.
  std::vector<Tensor> named;
  const double attended = stack_.dropout.after_attention ? dropout : 0;
  Tensor hidden = half(x, attended, "attention_residual", [&](const Tensor& in) {
    AttentionInput input = attention_input(index, in, pass);
    input.weights = &weights;
    if (stack_.mixer(index) == Mixer::attention_beside_mamba2)
      return mix_both(index, shared, input, named);
    return mix(index, shared, input);
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
      other.bias_is_turned = false;
      other.mask = shared.cross_mask;
      other.causal = false;
      return attend(layer, other, input);
    });
  }
  if (stack_.attention.names_scores || stack_.attention.wide_positions) named_ = weights;
  Tensor inner;
  return half(hidden, dropout, "mlp_residual",
              [&](const Tensor& in) { return feed_forward(layer, in, &inner); });
}

// The residual is in fp32, and the layer's input in the weights' type, where the file says so.
Tensor StackModules::run_single(std::uint64_t index, const Shared& shared, const Tensor& x,
                                const Pass& pass) {
  const Layer& layer = layers_[index];
  Tape& tape = run_.tape;
  const Tensor normed =
      apply(run_, layer.norms[0], ops::cast(tape, x, layer.norms[0].weight.element, "norm.input"));
  const bool wide = stack_.state_space ? stack_.state_space->wide_residual : stack_.wide_residual;
  const Tensor residual = wide ? ops::cast(tape, x, Element::fp32, "residual.fp32") : x;
  Tensor y;
  if (stack_.state_space) {
    const Scope scope(tape, attention_name_);
    y = apply(run_, *layer.state_space, normed,
              pass.cache == nullptr ? nullptr : &(*pass.cache)[index]);
  } else if (stack_.feeds_forward(index)) {
    y = feed_forward(layer, normed);
  } else {
    y = mix(index, shared, attention_input(index, normed, pass));
  }
  return ops::add(tape, residual, y, "residual");
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
