// SPDX-License-Identifier: Apache-2.0
#include "estimate/transformers/preference.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimate/one_gradient.h"

namespace headroom::estimate::transformers {
namespace {

// Micro-batches of answers that are made at once.
std::uint64_t generation_steps(const Job& job) {
  return job.preference.generation_steps.value_or(job.batch.accumulate.value_or(1));
}

// Micro-batches that are trained on before answers are made anew.
std::uint64_t generations_last(const Job& job) {
  return generation_steps(job) * job.preference.iterations;
}

// Whether the policy's own scores are taken before it is trained: always where it may have changed
// since the answers were made.
bool scores_first(const Job& job) {
  return job.preference.vllm_share.has_value() ||
         job.batch.accumulate.value_or(1) % generations_last(job) != 0;
}

// Gradients off for as long as it lives.
class NoGradients {
 public:
  explicit NoGradients(Tape& tape) : tape_(tape), enabled_(tape.grad_enabled()) {
    tape_.enable_grad(false);
  }
  ~NoGradients() { tape_.enable_grad(enabled_); }
  NoGradients(const NoGradients&) = delete;
  NoGradients& operator=(const NoGradients&) = delete;

 private:
  Tape& tape_;
  bool enabled_;
};

}  // namespace

Status check_preference(const Job& job, const Architecture& model) {
  const bool is_decoder = !model.stacks.empty() && model.stacks.size() == 1 && !model.projector &&
                          model.head.kind == Head::Kind::language && model.main().causal &&
                          !model.head.connectionist;
  if (is_decoder) return Done{};
  return Error{Errc::unsupported,
               fmt::format("expected a causal language model without a tower for trainer = \"{}\", "
                           "found {}",
                           to_string(job.preference.trainer), model.family),
               "leave method.trainer out, or name a decoder (docs/models.md)"}
      .at("method.trainer");
}

PreferenceTrainer::PreferenceTrainer(Run& run, const Architecture& model, Network& policy)
    : run_(run), policy_(policy) {
  const Job& job = run.job;
  const bool pairs = job.preference.trainer == TrainerKind::dpo;
  rows_ = (pairs ? 2 : 1) * run.batch;  // The chosen ones and the rejected ones.
  run.without_dropout = pairs;          // DPOConfig.disable_dropout
  const bool compares = pairs ? !job.preference.precomputed : job.preference.beta > 0;
  if (!compares || run.adapters()) return;
  reference_run_.emplace(run);
  reference_run_->reference = true;
  reference_run_->without_dropout = true;
  reference_.emplace(*reference_run_, model);
}

Answers PreferenceTrainer::answers() const {
  const Job::Preference& preference = run_.job.preference;
  return {preference.answered(run_.job.batch.sequence),
          parse_version(preference.trl) >= tiled_head};
}

// By the second model, or by the first without its adapters.
Scores PreferenceTrainer::score_by_reference() {
  const NoGradients none(run_.tape);
  Network& scorer = reference_ ? *reference_ : policy_;
  Run& run = reference_ ? *reference_run_ : run_;
  const Scope scope(run_.tape, "reference");
  run.batch = rows_;
  run.without_adapters = !reference_;
  Scores scores = scorer.score(run_.job.batch.sequence, answers());
  run.clear_autocast_cache();
  run.without_adapters = false;
  return scores;
}

void PreferenceTrainer::score_before() {
  const NoGradients none(run_.tape);
  run_.batch = rows_;
  const Scores scores = policy_.score(run_.job.batch.sequence, answers());
  run_.clear_autocast_cache();
}

void PreferenceTrainer::make_answers() {
  const Job& job = run_.job;
  const std::uint64_t steps = generation_steps(job);
  run_.tape.set_phase(Phase::generate);
  if (!job.preference.vllm_share) {
    const NoGradients none(run_.tape);
    const bool dropout = run_.without_dropout;
    run_.batch = rows_ * steps;
    run_.without_dropout = true;
    // PeftModel.generate() is that of the model below, whose forward accelerate did not wrap.
    run_.without_autocast = run_.adapters();
    policy_.answer(job.preference.prompt, job.preference.answered(job.batch.sequence));
    run_.without_autocast = false;
    run_.without_dropout = dropout;
  }
  if (scores_first(job)) score_before();
  if (job.preference.beta > 0) score_by_reference();
}

// entropy_from_logits: a copy of all logits without the last ones, and 128 rows of it at a time.
void PreferenceTrainer::measure_entropy(const Tensor& logits) {
  constexpr std::uint64_t rows = 128;
  Tape& tape = run_.tape;
  Meta shifted = logits.meta();
  --shifted.shape[1];
  const Tensor copy = tape.empty("logits.copy", shifted, Component::logits);
  const std::uint64_t all = shifted.shape[0] * shifted.shape[1];
  const Meta part{{std::min(rows, all), shifted.shape[2]}, logits.element};
  const Tensor logarithms = tape.empty("entropy.logarithms", part, Component::logits);
  const Tensor probabilities = tape.empty("entropy.probabilities", part, Component::logits);
  const Tensor product = tape.empty("entropy.product", part, Component::logits);
}

void PreferenceTrainer::train_micro_batch(bool first) {
  const Job& job = run_.job;
  Tape& tape = run_.tape;
  const bool pairs = job.preference.trainer == TrainerKind::dpo;
  const bool anew = generations_last(job) < job.batch.accumulate.value_or(1);
  if (!pairs && (first || anew)) make_answers();
  tape.set_phase(Phase::forward);
  run_.batch = rows_;
  const std::uint64_t tokens = job.batch.sequence;
  const Meta ids{{rows_, tokens}, Element::int64};
  const Tensor input = tape.empty("input_ids", ids, Component::other);
  const Tensor mask = tape.empty("attention_mask", ids, Component::other);
  const Tensor completions = tape.empty("completion_mask", ids, Component::other);
  Tensor loss;
  {
    const Scores scores = policy_.score(tokens, answers());
    run_.clear_autocast_cache();
    Scores compared;
    if (pairs && !job.preference.precomputed) compared = score_by_reference();
    if (pairs && scores.logits.defined()) measure_entropy(scores.logits);
    const Tensor& each = scores.log_probabilities;
    loss = tape.connect(tape.empty("loss", {{1}, Element::fp32}), {each}, {},
                        one_gradient("scores", each.meta()));
  }
  tape.set_phase(Phase::backward);
  Tensor seed = tape.empty("loss.grad", loss);
  tape.backward(loss, std::move(seed));
  policy_.end_batch();
  if (reference_) reference_->end_batch();
}

}  // namespace headroom::estimate::transformers
