// SPDX-License-Identifier: Apache-2.0
// Published configs whose model has a published number of parameters, of families and sizes that
// data/models.toml does not have; and that every row there comes out at its own number.
#include <gtest/gtest.h>

#include "estimate/models/parameters.h"
#include "knowledge/models.h"

namespace headroom::estimate {
namespace {

TEST(Families, every_model_of_the_table_has_as_many_parameters_as_its_row_says) {
  const auto models = knowledge::load_models();
  ASSERT_TRUE(models) << models.error().message;
  EXPECT_GE(models->size(), 100U);
  for (const auto& model : *models) {
    const auto architecture = parse_architecture(model.config);
    ASSERT_TRUE(architecture) << model.name << ": " << architecture.error().message;
    EXPECT_EQ(parameter_count(*architecture), model.parameters) << model.name;
    EXPECT_TRUE(architecture->notes.empty()) << model.name << ": " << architecture->notes.front();
  }
}

struct Published {
  const char* name;
  std::uint64_t parameters;
  const char* config;
};

const Published published[] = {
    {"bloom-560m", 559214592, R"({"model_type": "bloom", "n_embed": 1024, "n_layer": 24,
      "num_attention_heads": 16, "vocab_size": 250880})"},
    {"mpt-7b", 6649286656, R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32,
      "n_layers": 32, "expansion_ratio": 4, "no_bias": true, "vocab_size": 50432,
      "attn_config": {"alibi": true}})"},
    {"gpt-j-6b", 6050882784,
     R"({"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_inner": null,
      "n_layer": 28, "n_positions": 2048, "rotary_dim": 64, "tie_word_embeddings": false,
      "vocab_size": 50400})"},
    {"starcoderbase", 15517456384, R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_head": 48,
      "n_inner": 24576, "n_layer": 40, "n_positions": 8192, "multi_query": true,
      "vocab_size": 49152})"},
    {"starcoder2-3b", 3030371328, R"({"model_type": "starcoder2", "hidden_size": 3072,
      "intermediate_size": 12288, "num_hidden_layers": 30, "num_attention_heads": 24,
      "num_key_value_heads": 2, "use_bias": true, "sliding_window": 4096, "vocab_size": 49152})"},
    {"stablelm-2-1_6b", 1644515328, R"({"model_type": "stablelm", "hidden_size": 2048,
      "intermediate_size": 5632, "num_hidden_layers": 24, "num_attention_heads": 32,
      "num_key_value_heads": 32, "use_qkv_bias": true, "vocab_size": 100352})"},
    {"stablelm-3b-4e1t", 2795443200, R"({"model_type": "stablelm", "hidden_size": 2560,
      "intermediate_size": 6912, "num_hidden_layers": 32, "num_attention_heads": 32,
      "num_key_value_heads": 32, "vocab_size": 50304})"},
    {"granite-3.0-2b", 2533531648, R"({"model_type": "granite", "hidden_size": 2048,
      "intermediate_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 32,
      "num_key_value_heads": 8, "tie_word_embeddings": true, "vocab_size": 49155})"},
    {"falcon-rw-1b", 1311625216, R"({"model_type": "falcon", "hidden_size": 2048, "n_layer": 24,
      "n_head": 32, "alibi": true, "bias": true, "multi_query": false, "parallel_attn": false,
      "new_decoder_architecture": false, "vocab_size": 50304})"},
    {"roberta-base", 124645632, R"({"model_type": "roberta", "hidden_size": 768,
      "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
      "max_position_embeddings": 514, "type_vocab_size": 1, "vocab_size": 50265})"},
    {"xlm-roberta-base", 278043648, R"({"model_type": "xlm-roberta", "hidden_size": 768,
      "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
      "max_position_embeddings": 514, "type_vocab_size": 1, "vocab_size": 250002})"},
    {"distilbert-base", 66362880, R"({"model_type": "distilbert", "dim": 768, "hidden_dim": 3072,
      "n_layers": 6, "n_heads": 12, "max_position_embeddings": 512, "vocab_size": 30522})"},
    {"bert-base of masked words", 109514298, R"({"model_type": "bert",
      "architectures": ["BertForMaskedLM"], "hidden_size": 768, "intermediate_size": 3072,
      "num_hidden_layers": 12, "num_attention_heads": 12, "max_position_embeddings": 512,
      "vocab_size": 30522})"},
    {"bert-base of two classes", 109483778, R"({"model_type": "bert",
      "architectures": ["BertForSequenceClassification"], "hidden_size": 768,
      "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
      "max_position_embeddings": 512, "vocab_size": 30522})"},
    {"vit-base of 1000 classes", 86567656, R"({"model_type": "vit",
      "architectures": ["ViTForImageClassification"], "hidden_size": 768,
      "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
      "image_size": 224, "patch_size": 16, "num_labels": 1000})"},
    {"vit-base with its pooler", 86389248, R"({"model_type": "vit", "architectures": ["ViTModel"],
      "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
      "num_attention_heads": 12, "image_size": 224, "patch_size": 16})"},
    {"clip-vit-base-patch32", 151277313, R"({"model_type": "clip", "projection_dim": 512,
      "text_config": {}, "vision_config": {}})"},
    {"bart-base", 139420416, R"({"model_type": "bart", "d_model": 768, "encoder_layers": 6,
      "decoder_layers": 6, "encoder_attention_heads": 12, "decoder_attention_heads": 12,
      "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072, "max_position_embeddings": 1024,
      "vocab_size": 50265})"},
    {"mt5-small", 300176768, R"({"model_type": "mt5", "d_model": 512, "d_kv": 64, "d_ff": 1024,
      "num_layers": 8, "num_decoder_layers": 8, "num_heads": 6, "vocab_size": 250112,
      "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false})"},
    {"whisper-small", 241734912, R"({"model_type": "whisper", "d_model": 768, "encoder_layers": 12,
      "decoder_layers": 12, "encoder_attention_heads": 12, "decoder_attention_heads": 12,
      "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072, "num_mel_bins": 80, "vocab_size": 51865,
      "max_source_positions": 1500, "max_target_positions": 448})"},
    {"deepseek-v2-lite", 15706484224, R"({"model_type": "deepseek_v2", "hidden_size": 2048,
      "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 27,
      "num_attention_heads": 16, "n_shared_experts": 2, "n_routed_experts": 64,
      "num_experts_per_tok": 6, "first_k_dense_replace": 1, "kv_lora_rank": 512,
      "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
      "vocab_size": 102400})"},
    {"deepseek-v3", 671026404352, R"({"model_type": "deepseek_v3", "hidden_size": 7168,
      "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61,
      "num_attention_heads": 128, "n_shared_experts": 1, "n_routed_experts": 256,
      "num_experts_per_tok": 8, "first_k_dense_replace": 3, "kv_lora_rank": 512,
      "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
      "vocab_size": 129280})"},
    {"gpt-oss-20b", 20914757184, R"({"model_type": "gpt_oss", "hidden_size": 2880,
      "intermediate_size": 2880, "num_hidden_layers": 24, "num_attention_heads": 64,
      "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 32, "vocab_size": 201088})"},
    {"granite-3.0-1b-a400m", 1334628352, R"({"model_type": "granitemoe", "hidden_size": 1024,
      "intermediate_size": 512, "num_hidden_layers": 24, "num_attention_heads": 16,
      "num_key_value_heads": 8, "num_local_experts": 32, "num_experts_per_tok": 8,
      "vocab_size": 49155, "tie_word_embeddings": true})"},
    {"phi-3.5-moe", 41873153344, R"({"model_type": "phimoe", "hidden_size": 4096,
      "intermediate_size": 6400, "num_hidden_layers": 32, "num_attention_heads": 32,
      "num_key_value_heads": 8, "num_local_experts": 16, "attention_bias": true,
      "lm_head_bias": true, "vocab_size": 32064})"},
    {"deit-base of 1000 classes", 86569192, R"({"model_type": "deit",
      "architectures": ["DeiTForImageClassification"], "hidden_size": 768,
      "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
      "image_size": 224, "patch_size": 16, "num_labels": 1000})"},
    {"dinov2-large", 304368640, R"({"model_type": "dinov2", "hidden_size": 1024,
      "num_hidden_layers": 24, "num_attention_heads": 16, "mlp_ratio": 4, "image_size": 518,
      "patch_size": 14})"},
    {"dinov2-giant", 1136480768, R"({"model_type": "dinov2", "hidden_size": 1536,
      "num_hidden_layers": 40, "num_attention_heads": 24, "mlp_ratio": 4, "image_size": 518,
      "patch_size": 14, "use_swiglu_ffn": true})"},
    {"dinov2-with-registers-base", 86583552, R"({"model_type": "dinov2_with_registers",
      "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "mlp_ratio": 4,
      "image_size": 518, "patch_size": 14})"},
    {"siglip-base's tower", 92884224, R"({"model_type": "siglip_vision_model", "hidden_size": 768,
      "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
      "image_size": 224, "patch_size": 16})"},
    {"pegasus-large", 570797056, R"({"model_type": "pegasus", "d_model": 1024,
      "encoder_layers": 16, "decoder_layers": 16, "encoder_attention_heads": 16,
      "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096,
      "max_position_embeddings": 1024, "vocab_size": 96103})"},
    {"mamba-130m", 129135360, R"({"model_type": "mamba", "hidden_size": 768,
      "num_hidden_layers": 24, "state_size": 16, "vocab_size": 50280})"},
    {"falcon-mamba-7b", 7272665088, R"({"model_type": "falcon_mamba", "hidden_size": 4096,
      "num_hidden_layers": 64, "state_size": 16, "vocab_size": 65024,
      "tie_word_embeddings": false})"},
};

class Family : public ::testing::TestWithParam<Published> {};

TEST_P(Family, has_the_published_number_of_parameters) {
  const auto model = parse_architecture(*parse_json(GetParam().config));
  ASSERT_TRUE(model) << GetParam().name << ": " << model.error().message;
  EXPECT_EQ(parameter_count(*model), GetParam().parameters) << GetParam().name;
  EXPECT_TRUE(model->notes.empty()) << model->notes.front();
}

INSTANTIATE_TEST_SUITE_P(Published, Family, ::testing::ValuesIn(published), [](const auto& model) {
  std::string name = model.param.name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace headroom::estimate
