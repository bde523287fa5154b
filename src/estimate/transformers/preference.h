// SPDX-License-Identifier: Apache-2.0
// Training steps of TRL's DPOTrainer and GRPOTrainer: a policy, what it is compared with, and the
// answers.
//
// Sources, huggingface/trl 1.16: _compute_loss in trl/trainer/dpo_trainer.py and grpo_trainer.py,
// there _generate_and_score_completions, and use_adapter in utils.py. Of accelerate prepare_model,
// which wraps each model's forward in an autocast of its own.
#pragma once

#include <optional>

#include "base/result.h"
#include "estimate/transformers/network.h"

namespace headroom::estimate::transformers {

// Fails for models that the trainers do not have here: those without a causal language model's
// head, and those that see or hear.
Status check_preference(const Job& job, const Architecture& model);

class PreferenceTrainer {
 public:
  // Makes the second model, where the job has one. All three outlive this.
  PreferenceTrainer(Run& run, const Architecture& model, Network& policy);

  // One micro-batch forward and backward; before the first of a step, and where they do not last
  // for all, the answers that several share.
  void train_micro_batch(bool first);

 private:
  void make_answers();
  Scores score_by_reference();
  void score_before();
  void measure_entropy(const Tensor& logits);
  Answers answers() const;

  Run& run_;
  Network& policy_;
  std::uint64_t rows_ = 1;  // Of a micro-batch.
  std::optional<Run> reference_run_;
  std::optional<Network> reference_;
};

}  // namespace headroom::estimate::transformers
