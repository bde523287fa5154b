// SPDX-License-Identifier: Apache-2.0
// What config.json files leave out, call by another name, or mean otherwise than they say.
#include "estimate/models/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/model_config.h"
#include "estimate/models/parameters.h"

namespace headroom::estimate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Json parsed(const std::string& text) {
  const auto json = parse_json(text);
  EXPECT_TRUE(json) << text;
  return json ? *json : Json();
}

// A small decoder's keys, with `changes` on top; null removes nothing, it stays null.
Json small(const std::string& model_type, const std::string& changes = "{}") {
  Json config = parsed(R"({"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
      "num_attention_heads": 4, "vocab_size": 300})");
  config["model_type"] = model_type;
  config.update(parsed(changes));
  return config;
}

Architecture read(const Json& config) {
  auto model = parse_architecture(config);
  EXPECT_TRUE(model) << model.error().message;
  if (model) return *std::move(model);
  Architecture none;
  none.stacks.emplace_back();
  return none;
}

std::string complaint(const Json& config) {
  const auto model = parse_architecture(config);
  if (model) return "";
  EXPECT_FALSE(model.error().next.empty());
  return model.error().message;
}

TEST(Architecture, absent_or_null_kv_heads_and_head_dim_follow_from_the_others) {
  for (const char* keys : {"{}", R"({"num_key_value_heads": null, "head_dim": null})"}) {
    const Architecture model = read(small("llama", keys));
    EXPECT_EQ(model.main().attention.kv_heads, 4U);
    EXPECT_EQ(model.main().attention.head_dim, 16U);
  }
}

TEST(Architecture, tied_embeddings_are_the_classes_choice_where_the_config_is_silent) {
  for (const char* type : {"llama", "mistral", "qwen2", "qwen3", "phi", "phi3", "gpt_neox"}) {
    EXPECT_FALSE(read(small(type)).head.tied) << type;
  }
  for (const char* type : {"gemma", "gemma2", "gemma3_text", "falcon", "starcoder2"}) {
    EXPECT_TRUE(read(small(type)).head.tied) << type;
  }
}

TEST(Architecture, falcons_multi_query_means_one_kv_head_only_in_its_old_architecture) {
  EXPECT_EQ(read(small("falcon")).main().attention.kv_heads, 1U);
  EXPECT_EQ(read(small("falcon", R"({"multi_query": false})")).main().attention.kv_heads, 4U);
  const Architecture renewed =
      read(small("falcon", R"({"new_decoder_architecture": true, "num_kv_heads": 2})"));
  EXPECT_EQ(renewed.main().attention.kv_heads, 2U);
  EXPECT_EQ(renewed.main().placement, NormPlacement::parallel_two);
  EXPECT_THAT(complaint(small("falcon", R"({"multi_query": false, "num_kv_heads": 3})")),
              HasSubstr("num_kv_heads"));
}

TEST(Architecture, first_qwen_has_half_its_intermediate_size_in_each_branch) {
  const Architecture model = read(small("qwen"));
  EXPECT_EQ(model.main().mlp.intermediate, 64U);
  EXPECT_TRUE(model.main().attention.k_bias);
  EXPECT_FALSE(model.main().attention.o_bias);
}

TEST(Architecture, opt_has_two_positions_more_and_an_embedding_of_its_own_width) {
  const Architecture model = read(parsed(R"({"model_type": "opt", "hidden_size": 64, "ffn_dim": 256,
      "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 300,
      "max_position_embeddings": 100, "word_embed_proj_dim": 32, "do_layer_norm_before": false})"));
  EXPECT_EQ(model.main().position_rows, 102U);
  EXPECT_EQ(model.main().input.width, 32U);
  EXPECT_EQ(model.main().placement, NormPlacement::after);
  EXPECT_FALSE(model.main().final_norm);
}

TEST(Architecture, gemma3_with_eyes_is_a_tower_a_projector_and_a_text_of_class_defaults) {
  const Architecture model = read(parsed(R"({"model_type": "gemma3", "torch_dtype": "bfloat16",
      "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 7},
      "vision_config": {"hidden_size": 1152, "patch_size": 14, "image_size": 896}})"));
  ASSERT_EQ(model.stacks.size(), 2U);
  const Stack& tower = model.stacks.front();
  EXPECT_EQ(tower.role, Stack::Role::vision);
  EXPECT_EQ(tower.position_rows, 4096U);
  EXPECT_FALSE(tower.input.class_token);
  ASSERT_TRUE(model.projector);
  EXPECT_EQ(model.projector->in, 1152U);
  EXPECT_EQ(model.projector->out, 2304U);
  EXPECT_EQ(model.projector->tokens, 256U);
  const Stack& text = model.main();
  EXPECT_EQ(text.attention.heads, 8U);
  EXPECT_EQ(text.attention.kv_heads, 4U);
  EXPECT_EQ(text.attention.head_dim, 256U);
  EXPECT_EQ(model.vocabulary, 262208U);
  EXPECT_EQ(model.max_positions, 131072U);
  EXPECT_TRUE(model.head.tied);
  EXPECT_EQ(model.dtype, "bfloat16");
  EXPECT_THAT(text.windows, ElementsAre(4096, 4096, 4096, 4096, 4096, 0, 4096));
}

TEST(Architecture, llava_takes_a_layer_of_its_tower_without_the_class_token) {
  Json config = parsed(R"({"model_type": "llava",
      "text_config": {"model_type": "mistral", "hidden_size": 64, "num_attention_heads": 4,
        "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 100},
      "vision_config": {"model_type": "clip_vision_model", "num_hidden_layers": 6,
        "patch_size": 14, "image_size": 336}})");
  Architecture model = read(config);
  ASSERT_EQ(model.stacks.size(), 2U);
  EXPECT_EQ(model.stacks.front().chosen_layers, 5U);
  EXPECT_TRUE(model.stacks.front().final_norm_of_class);
  ASSERT_TRUE(model.projector);
  EXPECT_EQ(model.projector->tokens, 576U);
  EXPECT_EQ(model.projector->inner, 64U);
  EXPECT_EQ(model.main().attention.kv_heads, 2U);
  config["vision_feature_layer"] = -1;
  config["vision_feature_select_strategy"] = "full";
  model = read(config);
  EXPECT_EQ(model.stacks.front().chosen_layers, 6U);
  EXPECT_EQ(model.projector->tokens, 577U);
  config["vision_feature_layer"] = 9;
  EXPECT_THAT(complaint(config), HasSubstr("expected one of 6 layers, found 9"));
  config["vision_feature_layer"] = -2;
  config["text_config"]["model_type"] = "rwkv";
  EXPECT_THAT(complaint(config), HasSubstr("text_config.model_type"));
}

TEST(Architecture, qwens_towers_merge_squares_of_patches_and_see_windows) {
  Json config = small("qwen2_5_vl", R"({"vision_config": {"depth": 4, "hidden_size": 48,
      "num_heads": 3, "intermediate_size": 80, "out_hidden_size": 64,
      "fullatt_block_indexes": [1, 3], "window_size": 112}})");
  const Architecture model = read(config);
  ASSERT_EQ(model.stacks.size(), 2U);
  EXPECT_THAT(model.stacks.front().windows, ElementsAre(4, 0, 4, 0));
  EXPECT_EQ(model.projector->in, 48U * 4);
  EXPECT_TRUE(model.main().angles_by_sample);
  config["vision_config"]["out_hidden_size"] = 31;
  EXPECT_THAT(complaint(config), HasSubstr("vision_config"));
  config.erase("vision_config");
  EXPECT_EQ(read(config).stacks.size(), 1U);
}

TEST(Architecture, gemmas_norms_embedding_and_caps_are_its_own) {
  const Architecture second = read(small("gemma2", R"({"sliding_window": 32})"));
  EXPECT_EQ(second.main().placement, NormPlacement::around);
  EXPECT_TRUE(second.main().norm.unit_offset);
  EXPECT_TRUE(second.main().input.scaled);
  EXPECT_TRUE(second.main().attention.soft_cap);
  EXPECT_TRUE(second.head.soft_cap);
  EXPECT_EQ(second.main().mlp.activation, Activation::gelu_tanh);
  EXPECT_THAT(second.main().windows, ElementsAre(32, 0, 32, 0));
  const Architecture uncapped =
      read(small("gemma2", R"({"attn_logit_softcapping": null, "final_logit_softcapping": null})"));
  EXPECT_FALSE(uncapped.main().attention.soft_cap);
  EXPECT_FALSE(uncapped.head.soft_cap);
}

TEST(Architecture, mistrals_window_is_none_if_null_and_the_classes_if_absent) {
  EXPECT_THAT(read(small("mistral", R"({"sliding_window": null})")).main().windows, IsEmpty());
  EXPECT_EQ(read(small("mistral")).main().window(3), 4096U);
  EXPECT_EQ(read(small("mistral", R"({"sliding_window": 32})")).main().window(0), 32U);
}

TEST(Architecture, qwens_window_needs_to_be_used_and_begins_at_a_layer) {
  EXPECT_THAT(read(small("qwen2", R"({"sliding_window": 32})")).main().windows, IsEmpty());
  EXPECT_THAT(read(small("qwen2", R"({"use_sliding_window": true, "sliding_window": 32,
                                      "max_window_layers": 3})"))
                  .main()
                  .windows,
              ElementsAre(0, 0, 0, 32));
}

TEST(Architecture, layer_types_say_which_layers_have_a_window) {
  const Architecture model = read(small("gemma3_text", R"({"sliding_window": 16, "layer_types":
      ["full_attention", "sliding_attention", "full_attention", "sliding_attention"]})"));
  EXPECT_THAT(model.main().windows, ElementsAre(0, 16, 0, 16));
  EXPECT_THAT(complaint(small("gemma3_text", R"({"layer_types": ["full_attention"]})")),
              HasSubstr("each of 4 layers, found 1"));
  EXPECT_THAT(complaint(small("gemma3_text", R"({"layer_types": ["full_attention",
                  "full_attention", "full_attention", "linear_attention"]})")),
              HasSubstr("linear_attention"));
}

TEST(Architecture, experts_stand_in_the_layers_that_the_config_chooses) {
  const Architecture model = read(small("qwen2_moe", R"({"num_experts": 8,
      "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 2,
      "mlp_only_layers": [3], "shared_expert_intermediate_size": 48})"));
  ASSERT_TRUE(model.main().experts);
  EXPECT_THAT(model.main().experts->layers, ElementsAre(false, true, false, false));
  EXPECT_EQ(model.main().experts->shared_intermediate, 48U);
  EXPECT_THAT(complaint(small("qwen3_moe", R"({"num_experts": 8, "num_experts_per_tok": 2,
                  "moe_intermediate_size": 32, "mlp_only_layers": [4]})")),
              HasSubstr("mlp_only_layers"));
  EXPECT_THAT(complaint(small("mixtral", R"({"num_local_experts": 8, "num_experts_per_tok": 9})")),
              HasSubstr("num_experts_per_tok: expected a whole number from 1 to 8"));
}

TEST(Architecture, rotary_numbers_may_stand_in_a_table_of_their_own) {
  const Architecture model = read(
      small("phi3", R"({"rope_parameters": {"rope_theta": 5e5, "partial_rotary_factor": 0.75}})"));
  EXPECT_EQ(model.main().rope_theta, 5e5);
  EXPECT_EQ(model.main().attention.rotary_part, 0.75);
  EXPECT_EQ(read(small("gpt_neox")).main().attention.rotary_part, 0.25);
  EXPECT_EQ(read(small("phi")).main().attention.rotary_part, 0.5);
}

TEST(Architecture, how_the_weights_are_stored_is_read) {
  EXPECT_EQ(read(small("llama", R"({"dtype": "torch.float16"})")).dtype, "float16");
  const Architecture gptq = read(small("llama", R"({"quantization_config":
      {"quant_method": "gptq", "bits": 4, "group_size": -1}})"));
  ASSERT_TRUE(gptq.stored);
  EXPECT_EQ(gptq.stored->method, "gptq");
  EXPECT_EQ(gptq.stored->bits, 4U);
  EXPECT_EQ(gptq.stored->group_size, -1);
  const Architecture awq = read(small("llama", R"({"quantization_config":
      {"quant_method": "awq", "w_bit": 4, "q_group_size": 64}})"));
  EXPECT_EQ(awq.stored->group_size, 64);
  const Architecture nf4 = read(small("llama", R"({"quantization_config":
      {"load_in_4bit": true, "bnb_4bit_use_double_quant": true}})"));
  EXPECT_EQ(nf4.stored->bits, 4U);
  EXPECT_TRUE(nf4.stored->double_quantized);
  EXPECT_THAT(complaint(small("llama", R"({"quantization_config": {"quant_method": "gptq",
                  "bits": 64}})")),
              HasSubstr("quantization_config.bits"));
}

TEST(Architecture, an_unknown_type_with_a_llamas_keys_is_read_as_one_and_says_so) {
  const Architecture model = read(small("newcomer"));
  EXPECT_EQ(parameter_count(model), parameter_count(read(small("llama"))));
  ASSERT_EQ(model.notes.size(), 1U);
  EXPECT_THAT(model.notes.front(), HasSubstr("newcomer"));
  EXPECT_EQ(model.family, "newcomer");
}

TEST(Architecture, an_unknown_encoder_is_no_llama) {
  for (const char* key : {R"({"type_vocab_size": 2})", R"({"hidden_dropout_prob": 0.1})",
                          R"({"attention_probs_dropout_prob": 0})", R"({"embedding_size": 128})"})
    EXPECT_THAT(complaint(small("newcomer", key)), HasSubstr("model_type")) << key;
  EXPECT_TRUE(read(small("newcomer")).guessed);
  EXPECT_FALSE(read(small("llama")).guessed);
}

TEST(Architecture, clips_classifier_of_images_is_its_tower_alone) {
  const Architecture model = read(parsed(R"({"model_type": "clip",
      "architectures": ["CLIPForImageClassification"], "text_config": {}, "vision_config": {}})"));
  ASSERT_EQ(model.stacks.size(), 1U);
  EXPECT_EQ(model.main().role, Stack::Role::vision);
  EXPECT_EQ(model.head.kind, Head::Kind::numbers);
}

TEST(Architecture, an_unknown_type_that_is_no_llama_is_refused_with_the_families_known) {
  const std::string experts = complaint(small("newcomer", R"({"n_routed_experts": 64})"));
  EXPECT_THAT(experts, HasSubstr("n_routed_experts"));
  EXPECT_THAT(experts, HasSubstr("llama, mistral"));
  EXPECT_THAT(complaint(parsed(R"({"model_type": "rwkv", "hidden_size": 64})")),
              HasSubstr("whisper"));
  EXPECT_THAT(complaint(parsed("{}")), HasSubstr("model_type"));
  EXPECT_THAT(complaint(parsed("[1]")), HasSubstr("an array"));
  EXPECT_THAT(complaint(parsed(R"({"model_type": 7})")), HasSubstr("model_type"));
}

TEST(Architecture, the_text_inside_an_unknown_whole_is_planned_with_its_classes_defaults) {
  const Architecture model = read(parsed(R"({"model_type": "llava_onevision", "vision_config": {},
      "tie_word_embeddings": false,
      "text_config": {"model_type": "llama", "vocab_size": 32064}})"));
  EXPECT_EQ(model.main().hidden, 4096U);
  EXPECT_EQ(model.main().mlp.intermediate, 11008U);
  EXPECT_EQ(model.notes.size(), 2U);
  EXPECT_THAT(complaint(parsed(R"({"model_type": "llava_onevision", "text_config":
                  {"model_type": "llama", "hidden_size": "big"}})")),
              HasSubstr("text_config.hidden_size: expected a whole number from 1 to 1048576"));
}

TEST(Architecture, a_transformer_is_given_by_numbers_alone) {
  const Architecture model = read(parsed(R"({"hidden_size": 256, "num_hidden_layers": 4,
      "num_attention_heads": 16, "features": 7, "outputs": 3})"));
  const Stack& stack = model.main();
  EXPECT_EQ(stack.placement, NormPlacement::after);
  EXPECT_EQ(stack.mlp.intermediate, 1024U);
  EXPECT_EQ(stack.mlp.activation, Activation::relu);
  EXPECT_EQ(stack.input.kind, Input::Kind::numbers);
  EXPECT_EQ(stack.dropout.residual, 0.1);
  EXPECT_EQ(model.head.width, 3U);
  // torch.nn: in_proj 3H² + 3H, out_proj H² + H, linear1 and 2 8H² + 5H, two norms 4H.
  EXPECT_EQ(parameter_count(model), 4U * (12 * 256 * 256 + 13 * 256) + 7 * 256 + 256 + 3 * 256 + 3);
  EXPECT_EQ(model.notes.size(), 1U);
  EXPECT_THAT(complaint(parsed(R"({"model_type": "transformer", "d_model": 256, "nhead": 16,
                                   "num_layers": 4})")),
              HasSubstr("features"));
}

TEST(Architecture, the_class_that_was_saved_decides_the_head) {
  const auto head_of = [](const char* type, const std::string& name) {
    return read(small(type, R"({"num_labels": 5, "architectures": [")" + name + "\"]}")).head;
  };
  EXPECT_EQ(head_of("llama", "LlamaForCausalLM").kind, Head::Kind::language);
  EXPECT_EQ(head_of("llama", "LlamaModel").kind, Head::Kind::none);
  const Head classes = head_of("llama", "LlamaForSequenceClassification");
  EXPECT_EQ(classes.kind, Head::Kind::numbers);
  EXPECT_EQ(classes.width, 5U);
  EXPECT_FALSE(classes.bias);
  EXPECT_TRUE(head_of("llama", "LlamaForTokenClassification").bias);
  EXPECT_EQ(head_of("mistral", "MistralForQuestionAnswering").width, 2U);
  // headroom-train has the head of a language model alone.
  const char* const classifier = R"({"architectures": ["LlamaForSequenceClassification"]})";
  EXPECT_TRUE(decoder_config(read(small("llama"))));
  EXPECT_FALSE(decoder_config(read(small("llama", classifier))));
}

TEST(Architecture, impossible_numbers_are_errors_that_name_their_key) {
  for (const char* value : {"0", "-1", "1e400", "18446744073709551616", "1048577", "2.5", "\"64\"",
                            "[64]", "18446744073709551615", "-9223372036854775808"}) {
    Json config = small("llama");
    const auto hostile = parse_json(std::string("{\"hidden_size\": ") + value + "}");
    if (!hostile) continue;  // Not a number that JSON can hold.
    config.update(*hostile);
    EXPECT_THAT(complaint(config), HasSubstr("hidden_size: expected")) << value;
  }
  EXPECT_THAT(complaint(small("llama", R"({"num_key_value_heads": 3})")),
              HasSubstr("num_attention_heads"));
  EXPECT_THAT(complaint(small("llama", R"({"head_dim": 15})")), HasSubstr("even"));
  EXPECT_THAT(complaint(small("llama", R"({"hidden_act": "sine"})")), HasSubstr("hidden_act"));
  EXPECT_THAT(complaint(small("gpt_neox", R"({"hidden_dropout": 1.5})")),
              HasSubstr("hidden_dropout: expected a number from 0 to 1"));
}

TEST(Architecture, a_model_larger_than_any_machine_is_refused_and_does_not_overflow) {
  const std::string text = complaint(small("mixtral", R"({"hidden_size": 1048576,
      "intermediate_size": 1048576, "num_hidden_layers": 1024, "num_attention_heads": 16384,
      "head_dim": 16384, "vocab_size": 16777216, "num_local_experts": 1024})"));
  EXPECT_THAT(text, HasSubstr("at most 1125899906842624 parameters"));
  EXPECT_THAT(text, HasSubstr("4611"));  // 3 · 2^60 of experts and 2^60 of attention.
}

TEST(Architecture, what_decides_memory_in_training_is_read_with_its_defaults) {
  const Architecture gpt2 = read(parsed(R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2,
      "n_head": 4, "n_positions": 128, "vocab_size": 300, "n_inner": null})"));
  EXPECT_EQ(gpt2.main().dropout.attention, 0.1);
  EXPECT_EQ(gpt2.main().dropout.residual, 0.1);
  EXPECT_EQ(gpt2.main().mlp.intermediate, 256U);
  EXPECT_EQ(gpt2.main().mlp.activation, Activation::gelu_new);
  EXPECT_EQ(read(small("llama")).main().dropout.attention, 0.0);
}

TEST(FindArchitecture, a_name_is_found_however_it_is_written) {
  const auto expected = find_architecture("Qwen/Qwen2.5-3B");
  ASSERT_TRUE(expected) << expected.error().message;
  EXPECT_EQ(parameter_count(*expected), 3085938688U);
  for (const char* name : {"qwen2.5-3b", "QWEN2.5 3B", "someone-else/qwen2_5-3b"}) {
    const auto model = find_architecture(name);
    ASSERT_TRUE(model) << name << ": " << model.error().message;
    EXPECT_EQ(parameter_count(*model), 3085938688U) << name;
  }
}

TEST(FindArchitecture, a_tuned_variant_has_the_layers_of_its_model_and_says_so) {
  const auto model = find_architecture("Qwen/Qwen2.5-3B-Instruct");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_THAT(model->notes, ElementsAre(HasSubstr("Qwen/Qwen2.5-3B")));
}

TEST(FindArchitecture, an_unknown_name_is_refused_with_the_nearest) {
  const auto model = find_architecture("Qwen/Qwen2.5-4B");
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("Qwen/Qwen2.5-3B"));
  EXPECT_THAT(model.error().next, HasSubstr("config ="));
  const auto nothing = find_architecture(std::string(10000, 'x'));
  ASSERT_FALSE(nothing);
  EXPECT_LT(nothing.error().message.size(), 300U);
  EXPECT_THAT(nothing.error().message, Not(HasSubstr("nearest")));
  EXPECT_FALSE(find_architecture(""));
}

}  // namespace
}  // namespace headroom::estimate
