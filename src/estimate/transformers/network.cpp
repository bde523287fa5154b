// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "estimate/one_gradient.h"
#include "estimate/transformers/loss.h"

namespace headroom::estimate::transformers {
Network::Network(Run& run, const Architecture& model) : run_(run), model_(model) {
  std::optional<Tensor> shared;
  const Job::Method& method = run.job.method;
  for (const Stack& stack : model.stacks) {
    const bool tower = model.projector && stack.role == Stack::Role::vision;
    run.frozen =
        tower ? method.freeze_vision_tower : model.projector && method.freeze_language_model;
    inputs_.emplace_back(run, model, stack, model.shared_embedding ? shared : std::nullopt);
    if (!shared) shared = inputs_.back().table();
    stacks_.emplace_back(run, stack);
  }
  run.frozen = method.freeze_projector;
  if (model.projector) vision_.emplace(run, model, inputs_.front(), stacks_.front());
  run.frozen = model.projector && method.freeze_language_model;
  make_head();
  run.frozen = false;
  if (run.adapters() && !run.reference) attach_adapters();
}

// PEFT goes through the model in its order, then copies modules_to_save.
void Network::attach_adapters() {
  const Job::Method& method = run_.job.method;
  const auto has = [](const std::vector<Target>& all, Target target) {
    return std::find(all.begin(), all.end(), target) != all.end();
  };
  if (has(method.targets, Target::embedding)) inputs_.back().attach_adapter();
  if (vision_) vision_->attach_adapters();
  for (StackModules& stack : stacks_)
    if (!vision_ || &stack != &stacks_.front()) stack.attach_adapters(method.targets);
  if (has(method.targets, Target::head)) attach_adapter(run_, *head_);
  if (has(method.modules_to_save, Target::embedding)) inputs_.back().attach_copy();
  if (has(method.modules_to_save, Target::head)) attach_copy(run_, *head_);
}

std::string Network::modules() {
  constexpr std::array all = {Target::q,    Target::k,  Target::v,   Target::o,
                              Target::gate, Target::up, Target::down};
  std::string names;
  for (const Target target : all) {
    const bool has = std::any_of(stacks_.begin(), stacks_.end(),
                                 [&](StackModules& stack) { return stack.has(target); });
    if (has) names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(target));
  }
  return names;
}

void Network::make_head() {
  const Stack& main = model_.main();
  const Head& head = model_.head;
  const std::uint64_t width = main.input.width > 0 ? main.input.width : main.hidden;
  if (head.attention_pooling) pooling_ = make_pooling_head(run_, main);
  switch (head.kind) {
    case Head::Kind::none:
      break;
    case Head::Kind::language:
      if (width != main.hidden)
        project_out_ =
            make_plain_linear(run_, "project_out", {width, main.hidden}, false, run_.weights());
      if (head.tied && inputs_.back().table()) {
        Linear tied;
        tied.name = "lm_head";
        tied.in = width;
        tied.out = model_.vocabulary;
        tied.stored.push_back(*inputs_.back().table());
        if (head.bias)
          tied.bias = run_.tape.parameter("lm_head.bias", {{tied.out}, run_.embeddings()},
                                          Component::weights, run_.full());
        head_ = tied;
      } else {
        head_ = make_plain_linear(run_, run_.tape.intern(main.names.head),
                                  {model_.vocabulary, width}, head.bias, run_.embeddings());
      }
      if (head.offset)
        offset_ = run_.tape.empty("final_logits_bias", {{1, model_.vocabulary}, run_.weights()},
                                  Component::other);
      break;
    case Head::Kind::pooler:
      head_ = make_plain_linear(run_, "pooler", {main.hidden, main.hidden}, true, run_.weights());
      if (head.width > 0)
        classifier_ = make_plain_linear(run_, "classifier", {head.width, main.hidden}, head.bias,
                                        run_.weights());
      break;
    case Head::Kind::numbers: {
      const bool twice = head.pooling == Head::Pooling::first_and_mean;
      std::uint64_t rows = twice ? 2 * main.hidden : main.hidden;
      if (head.inner > 0)
        inner_ = make_plain_linear(run_, "projector", {head.inner, std::exchange(rows, head.inner)},
                                   true, run_.weights());
      head_ = make_plain_linear(run_, "output_projection", {head.width, rows}, head.bias,
                                run_.weights());
      break;
    }
    case Head::Kind::projection:
      for (const Stack& stack : model_.stacks)
        projections_.push_back(make_plain_linear(run_, "projection", {head.width, stack.hidden},
                                                 false, run_.weights()));
      logit_scale_ = run_.tape.parameter("logit_scale", {{1}, run_.weights()}, Component::weights,
                                         run_.full());
      break;
  }
  if (head.transform) {
    transform_ = make_plain_linear(run_, "transform", {main.hidden, main.hidden},
                                   head.transform_bias, run_.weights());
    transform_norm_ = make_norm(run_, "transform_norm", main.norm, main.hidden);
  }
}

std::optional<Tensor> Network::run_encoders(std::uint64_t tokens) {
  if (!model_.main().cross_attention) return std::nullopt;
  return run_stack(0, tokens, {});
}

// PEFT's enable_input_require_grads, or nothing inside a checkpoint would get a gradient.
Tensor Network::input_of(std::size_t stack, std::uint64_t tokens) {
  Tensor hidden = inputs_[stack].forward(tokens);
  const bool checkpointing = run_.job.compute.checkpointing != Checkpointing::none;
  if (run_.adapters() && checkpointing && !hidden.requires_grad())
    return Tape::require_gradient(hidden);
  return hidden;
}

Tensor Network::run_stack(std::size_t stack, std::uint64_t tokens, const Pass& pass) {
  Tensor hidden = input_of(stack, tokens);
  const std::vector<Tensor> named = inputs_[stack].take_named();
  return stacks_[stack].forward(std::move(hidden), pass);
}

Tensor Network::run_main(std::uint64_t tokens, const Pass& pass) {
  return run_stack(stacks_.size() - 1, tokens, pass);
}

Tensor Network::run_main(std::uint64_t tokens, const Pass& pass, const Tensor& pixels,
                         Tensor& features) {
  if (!pixels.defined()) return run_main(tokens, pass);
  Tensor hidden = input_of(stacks_.size() - 1, tokens);
  const Seen seen = vision_->see(pixels);
  if (model_.projector->returned) features = seen.features;
  hidden = ops::scatter_rows(run_.tape, hidden, seen.features, "embeddings_with_images");
  Pass among = pass;
  among.both_ways = model_.projector->both_ways;
  inputs_.back().take_named();  // The rows with images have taken the name.
  const Tensor named = hidden;
  return stacks_.back().forward(hidden, among);
}

Tensor Network::make_pixels() {
  const std::uint64_t images = run_.job.batch.images_per_sample;
  return vision_ && images > 0 ? vision_->pixels(images * run_.batch) : Tensor{};
}

Tensor Network::output_of(const Tensor& hidden) {
  Tape& tape = run_.tape;
  const Scope scope(tape, "head");
  const Shape one = {hidden.shape[0], 1, hidden.shape[2]};
  Tensor aside;  // The model's output holds it beside what the classifier is given.
  if (pooling_) aside = apply(run_, *pooling_, hidden);
  switch (model_.head.kind) {
    case Head::Kind::pooler: {
      const Tensor first = ops::take(tape, hidden, one, "first_token");
      const Tensor pooled = ops::tanh(tape, apply(run_, *head_, first), "pooled");
      return classifier_ ? apply(run_, *classifier_, pooled) : pooled;
    }
    case Head::Kind::numbers:
      return connectionist_loss(apply(run_, *head_, pooled_of(hidden)));
    default:
      return hidden;
  }
}

// OPT's rows are as narrow as its embedding's; Mamba's are brought back to its weights' type.
Tensor Network::head_input(const Tensor& hidden) {
  if (project_out_) return apply(run_, *project_out_, hidden);
  if (!model_.head.widens) return hidden;
  return ops::cast(run_.tape, hidden, head_->stored.front().element, "hidden.narrow");
}

// The rows that the classifier is given.
Tensor Network::pooled_of(const Tensor& given) {
  Tape& tape = run_.tape;
  const Head& head = model_.head;
  Tensor hidden = inner_ ? apply(run_, *inner_, given) : given;
  if (!head.per_sample) return before_head(hidden);
  const Shape one = {hidden.shape[0], 1, hidden.shape[2]};
  const auto mean = [&](const Tensor& x) {
    return tape.connect(tape.empty("mean_of_rows", {one, x.element}), {x}, {},
                        one_gradient("mean_of_rows", x.meta()));
  };
  switch (head.pooling) {
    case Head::Pooling::one:
      return ops::take(tape, hidden, one, "one_position");
    case Head::Pooling::mean:
      return mean(hidden);
    case Head::Pooling::first_and_mean: {
      const Tensor first = ops::narrow(tape, hidden, 1, 1);
      const Tensor rest = ops::narrow(tape, hidden, 1, hidden.shape[1] - 1);
      return ops::concat_last(tape, first, mean(rest), "first_and_mean");
    }
  }
  return hidden;
}

// CTC is given log-probabilities in fp32.
Tensor Network::connectionist_loss(const Tensor& logits) {
  if (!model_.head.connectionist || !run_.trains()) return logits;
  Tape& tape = run_.tape;
  return ops::log_softmax(tape, ops::cast(tape, logits, Element::fp32, "logits.fp32"),
                          "log_probabilities");
}

// BERT's masked words, ModernBERT's classes of tokens: a Linear, its activation and a norm before
// the logits.
Tensor Network::before_head(const Tensor& hidden) {
  if (!transform_) return hidden;
  const Scope scope(run_.tape, "head");
  const Tensor dense =
      ops::gelu(run_.tape, apply(run_, *transform_, hidden), "transform.activated");
  return apply(run_, *transform_norm_, dense);
}

Tensor Network::loss_of(const Tensor& hidden) {
  Tape& tape = run_.tape;
  if (model_.head.kind == Head::Kind::language) {
    return language_loss(run_, before_head(head_input(hidden)),
                         {*head_, offset_, model_.head.widens}, model_.head);
  }
  return ops::mean_all(tape, output_of(hidden), "loss");
}

void Network::train_micro_batch() {
  Tape& tape = run_.tape;
  tape.set_phase(Phase::forward);
  const std::uint64_t tokens = run_.job.batch.sequence;
  const std::uint64_t targets =
      model_.main().cross_attention ? run_.job.batch.target.value_or(tokens) : tokens;
  // A recording comes with a few labels; its mask is not given where no sample is padded.
  const bool sounds = model_.main().input.kind == Input::Kind::waveform;
  const Meta ids{{run_.batch, sounds ? 1 : tokens}, Element::int64};
  const Tensor mask = tape.empty("attention_mask", ids, Component::other);
  const Tensor labels =
      tape.empty("labels", {{run_.batch, sounds ? 1 : targets}, Element::int64}, Component::other);
  const Tensor pixels = make_pixels();
  Tensor loss;
  if (model_.head.kind == Head::Kind::projection) {  // Both towers, and their agreement.
    std::vector<Tensor> towers;
    for (std::size_t i = 0; i < stacks_.size(); ++i) {
      const Tensor hidden = run_stack(i, tokens, {});
      const Shape first = {run_.batch, hidden.shape[2]};
      towers.push_back(apply(run_, projections_[i], ops::take(tape, hidden, first, "pooled")));
    }
    const Tensor similarity =
        ops::matmul(tape, towers[0], towers[1], {run_.batch, run_.batch}, "similarity");
    loss = ops::mean_all(tape, ops::mul(tape, similarity, *logit_scale_, "scaled"), "loss");
  } else {
    Pass pass;
    pass.memory = run_encoders(tokens);
    Tensor features;
    loss = loss_of(run_main(targets, pass, pixels, features));
  }
  run_.clear_autocast_cache();
  tape.set_phase(Phase::backward);
  Tensor seed = tape.empty("loss.grad", loss);
  tape.backward(loss, std::move(seed));
  end_batch();
}

Scores Network::score(std::uint64_t tokens, const Answers& answers) {
  const Tensor hidden = before_head(head_input(run_main(tokens, {})));
  const bool widens = model_.head.widens;
  return score_answers(run_, hidden, {*head_, offset_, widens}, model_.head, answers);
}

void Network::end_batch() {
  for (InputModules& input : inputs_) input.end_batch();
}

}  // namespace headroom::estimate::transformers
