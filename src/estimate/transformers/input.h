// SPDX-License-Identifier: Apache-2.0
// What goes into a stack: embeddings of tokens, patches of an image, frames of sound, or numbers.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "estimate/models/architecture.h"
#include "estimate/transformers/linear.h"
#include "estimate/transformers/norm.h"
#include "estimate/transformers/waveform.h"

namespace headroom::estimate::transformers {

class InputModules {
 public:
  // `shared_table` is another stack's embedding, where the two share one.
  InputModules(Run& run, const Architecture& model, const Stack& stack,
               const std::optional<Tensor>& shared_table);

  // PEFT's adapter on the table, or its trained copy. Requires: the input is tokens.
  void attach_adapter();
  void attach_copy();
  // The table [vocabulary, width]; nothing where the input is no tokens.
  const std::optional<Tensor>& table() const { return table_; }
  // → [batch, tokens, hidden]. `tokens` counts what the stack sees where the input is tokens or
  // numbers; an image and a recording have their own.
  Tensor forward(std::uint64_t tokens);
  // What the last forward left names for; the caller holds it while the stack runs.
  std::vector<Tensor> take_named() { return std::exchange(named_, {}); }
  // The batch's own images or sounds, which its loop holds until the backward pass is through.
  void end_batch() { given_ = {}; }
  // The pixels of so many images, and the tower's input that they become.
  Tensor pixels(std::uint64_t images);
  Tensor look(const Tensor& pixels);
  static std::uint64_t tokens_of(const Stack& stack, std::uint64_t tokens);

 private:
  Tensor embed_tokens(std::uint64_t tokens);
  Tensor with_adapter(const Tensor& ids, const Tensor& rows);
  // Under autocast in its type, as products are.
  Tensor convolve(const Tensor& x, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, Meta output, Name name);
  Tensor embed_patches(const Tensor& pixels);
  void make_mask_token();
  Tensor with_registers(const Tensor& hidden);
  Tensor with_positions(Tensor hidden, std::uint64_t length);
  bool asks_inputs_for_gradients() const;
  Tensor embed_audio(std::uint64_t frames);
  Tensor parameter(Name name, Shape shape, bool trained = true);

  Run& run_;
  const Stack& stack_;
  std::vector<Tensor> named_;
  Tensor given_;
  std::optional<Tensor> table_, positions_, types_, class_token_, extra_tokens_, mask_token_;
  std::optional<Tensor> table_copy_;
  std::optional<Tensor> lora_a_;  // [rank, vocabulary]
  std::optional<Tensor> lora_b_;  // [width, rank]
  std::optional<Tensor> first_weight_, first_bias_, second_weight_, second_bias_;  // Convolutions.
  std::optional<Linear> project_;  // OPT's project_in, or the Linear of numbers.
  std::optional<NormWeights> norm_;
  std::optional<WaveformModules> waveform_;
};

}  // namespace headroom::estimate::transformers
