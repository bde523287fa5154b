// SPDX-License-Identifier: Apache-2.0
// A Llama's stack, and the keys that every decoder like it has.
#pragma once

#include "estimate/models/config_parts.h"

namespace headroom::estimate {

// What a class has where an inner table leaves keys out; of Llama itself if nothing else is said.
struct LlamaDefaults {
  std::uint64_t hidden = 4096;
  std::uint64_t intermediate = 11008;
  std::uint64_t layers = 32;
  std::uint64_t vocabulary = 32000;
  HeadDefaults heads = {32, std::nullopt, std::nullopt};
  std::uint64_t positions = 2048;
  double rotary_part = 1.0;
  double eps = 1e-6;
  bool tied = false;
  bool dense = true;  // A config must say intermediate_size.
};

// Everything but biases, windows and experts, into a new stack of `out`.
Stack& add_llama_stack(ConfigReader& config, Architecture& out, const LlamaDefaults& defaults = {});

// The vocabulary, a head and max_position_embeddings, of every decoder.
void read_vocabulary(ConfigReader& config, Architecture& out, Stack& stack,
                     std::optional<std::uint64_t> class_default, bool tied);

// The experts of Qwen's mixtures, and in which layers they are.
void read_qwen_experts(ConfigReader& config, Stack& stack, const Experts& defaults);

// A norm before and one behind each half; the first norm has the name that the stack gives it.
void set_norms_around(Stack& stack, const char* first_post, const char* second,
                      const char* second_post);

}  // namespace headroom::estimate
