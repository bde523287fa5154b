// SPDX-License-Identifier: Apache-2.0
// Gemma: Llama with heads of their own size, a scaled embedding, norms that multiply by
// (1 + weight), and from the second on four norms a layer and windows in some layers. Sources:
// transformers, models/{gemma,gemma2,gemma3}.
#include "estimate/models/families.h"
#include "estimate/models/llama.h"
#include "estimate/models/vision.h"

namespace headroom::estimate {
namespace {

Stack& add_gemma_stack(ConfigReader& config, Architecture& out, LlamaDefaults defaults) {
  defaults.tied = true;
  Stack& stack = add_llama_stack(config, out, defaults);
  // The first Gemma's files say "hidden_act": "gelu", and its class takes the other one.
  stack.mlp.activation = config.activation_or({"hidden_activation"}, Activation::gelu_tanh);
  stack.norm.unit_offset = true;
  stack.input.scaled = true;
  const bool bias = config.flag_or({"attention_bias"}, false);
  set_bias(stack.attention, bias, bias);
  return stack;
}

void add_norms_behind(Stack& stack) {
  set_norms_around(stack, "post_attention_layernorm", "pre_feedforward_layernorm",
                   "post_feedforward_layernorm");
}

}  // namespace

void parse_gemma(ConfigReader& config, Architecture& out) {
  add_gemma_stack(config, out,
                  {.hidden = 3072,
                   .intermediate = 24576,
                   .layers = 28,
                   .vocabulary = 256000,
                   .heads = {16, 16, 256},
                   .positions = 8192});
}

void parse_gemma2(ConfigReader& config, Architecture& out) {
  Stack& stack = add_gemma_stack(config, out,
                                 {.hidden = 2304,
                                  .intermediate = 9216,
                                  .layers = 26,
                                  .vocabulary = 256000,
                                  .heads = {8, 4, 256},
                                  .positions = 8192});
  add_norms_behind(stack);
  // null is none; absent is the class's 50 and 30.
  stack.attention.soft_cap = !config.is_null("attn_logit_softcapping");
  out.head.soft_cap = !config.is_null("final_logit_softcapping");
  read_windows(config, stack, 4096, [](std::uint64_t layer) { return layer % 2 == 0; });
}

void parse_gemma3_text(ConfigReader& config, Architecture& out) {
  Stack& stack = add_gemma_stack(config, out,
                                 {.hidden = 2304,
                                  .intermediate = 9216,
                                  .layers = 26,
                                  .vocabulary = 262208,
                                  .heads = {8, 4, 256},
                                  .positions = 131072});
  add_norms_behind(stack);
  stack.attention.qk_norm = true;
  stack.attention.soft_cap = config.has("attn_logit_softcapping");
  out.head.soft_cap = config.has("final_logit_softcapping");
  const std::uint64_t pattern =
      config.size_or({"sliding_window_pattern", "_sliding_window_pattern"}, layer_counts, 6);
  read_windows(config, stack, 4096,
               [pattern](std::uint64_t layer) { return (layer + 1) % pattern != 0; });
}

// Text and a SigLIP tower whose rows, averaged to mm_tokens_per_image, are projected into it.
void parse_gemma3(ConfigReader& config, Architecture& out) {
  ConfigReader vision = config.inner("vision_config");
  add_siglip_tower(vision, out).input.own_type = true;
  ConfigReader text = config.inner("text_config");
  parse_gemma3_text(text, out);
  out.head.tied = config.flag_or({"tie_word_embeddings"}, out.head.tied);
  Projector& projector = out.projector.emplace();
  projector.in = projector.norm_width = out.stacks.front().hidden;
  projector.out = out.stacks.back().hidden;
  projector.norm = out.stacks.back().norm;
  projector.averages = projector.both_ways = projector.returned = true;
  projector.tokens = config.size_or({"mm_tokens_per_image"}, position_counts, 256);
  ModuleNames& names = out.stacks.back().names;
  names.layers = "model.language_model.layers";
  names.embedding = "model.language_model.embed_tokens";
  names.final_norm = "model.language_model.norm";
}

}  // namespace headroom::estimate
