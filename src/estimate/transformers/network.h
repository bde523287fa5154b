// SPDX-License-Identifier: Apache-2.0
// All modules of one model, and what is done with them: a micro-batch forward and backward, or a
// prompt and the tokens after it.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "estimate/transformers/answer_scores.h"
#include "estimate/transformers/input.h"
#include "estimate/transformers/linear.h"
#include "estimate/transformers/pooling_head.h"
#include "estimate/transformers/stack.h"
#include "estimate/transformers/vision.h"

namespace headroom::estimate::transformers {

class Network {
 public:
  // Makes the weights, then the adapters. `run` and `model` outlive this.
  Network(Run& run, const Architecture& model);

  // The targets of a job that it has modules for: "q, k, v, o, up, down".
  std::string modules();

  void train_micro_batch();
  void generate();

  // Rows of prompt and answer, as TRL's trainers score them (answer_scores.h). Requires: a
  // language head.
  Scores score(std::uint64_t tokens, const Answers& answers);
  // The answers to prompts of so many tokens, by transformers' generate().
  void answer(std::uint64_t prompt, std::uint64_t answered);
  void end_batch();

 private:
  void make_head();
  void attach_adapters();
  Tensor head_input(const Tensor& hidden);
  Tensor before_head(const Tensor& hidden);
  // The stacks before the last one; what the last one looks at, if it does.
  std::optional<Tensor> run_encoders(std::uint64_t tokens);
  Tensor input_of(std::size_t stack, std::uint64_t tokens);
  Tensor run_stack(std::size_t stack, std::uint64_t tokens, const Pass& pass);
  // The last stack. `pixels`, if there are any, are looked at first; what was seen is given to
  // `features`, which the model's output keeps.
  Tensor run_main(std::uint64_t tokens, const Pass& pass);
  Tensor run_main(std::uint64_t tokens, const Pass& pass, const Tensor& pixels, Tensor& features);
  Tensor make_pixels();
  Tensor output_of(const Tensor& hidden);
  Tensor pooled_of(const Tensor& hidden);
  Tensor connectionist_loss(const Tensor& logits);
  Tensor loss_of(const Tensor& hidden);
  void sample(Tensor logits);
  void generate_tokens(std::uint64_t prompt, std::uint64_t generated);
  void grow(std::vector<LayerCache>& cache, std::uint64_t tokens);

  Run& run_;
  const Architecture& model_;
  std::deque<InputModules> inputs_;
  std::deque<StackModules> stacks_;
  std::optional<Linear> project_out_;  // OPT
  std::optional<Linear> head_;
  std::optional<Linear> transform_, classifier_;
  std::optional<PoolingHead> pooling_;
  std::optional<Linear> inner_;  // wav2vec 2.0's, in front of a classifier.
  std::optional<NormWeights> transform_norm_;
  std::optional<VisionModules> vision_;
  std::vector<Linear> projections_;  // CLIP: of each tower.
  std::optional<Tensor> offset_;     // BART's final_logits_bias.
  std::optional<Tensor> logit_scale_;
};

}  // namespace headroom::estimate::transformers
