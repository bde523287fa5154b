// SPDX-License-Identifier: Apache-2.0
// One function per family of config.json: its keys into the words of an Architecture. A value that
// is wrong is the reader's problem; what such a function leaves behind is then nobody's.
//
// Keys and their defaults are those of configuration_*.py in transformers, shapes those of
// modeling_*.py; each file names what it goes by.
#pragma once

#include "estimate/models/architecture.h"
#include "estimate/models/config_reader.h"

namespace headroom::estimate {

// The text_config of a model that also sees: by its model_type, a Llama if it says none.
void parse_text_model(ConfigReader& config, Architecture& out);

void parse_llama(ConfigReader& config, Architecture& out);
void parse_mistral(ConfigReader& config, Architecture& out);
void parse_granite(ConfigReader& config, Architecture& out);
void parse_qwen2(ConfigReader& config, Architecture& out);
void parse_qwen3(ConfigReader& config, Architecture& out);
void parse_qwen2_vl(ConfigReader& config, Architecture& out);
void parse_qwen2_5_vl(ConfigReader& config, Architecture& out);
void parse_mixtral(ConfigReader& config, Architecture& out);
void parse_qwen2_moe(ConfigReader& config, Architecture& out);
void parse_qwen3_moe(ConfigReader& config, Architecture& out);
void parse_qwen3_next(ConfigReader& config, Architecture& out);
void parse_qwen3_5(ConfigReader& config, Architecture& out);
void parse_qwen3_5_moe(ConfigReader& config, Architecture& out);
void parse_granite_hybrid(ConfigReader& config, Architecture& out);
void parse_bamba(ConfigReader& config, Architecture& out);
void parse_falcon_h1(ConfigReader& config, Architecture& out);
void parse_nemotron_h(ConfigReader& config, Architecture& out);
void parse_mamba2(ConfigReader& config, Architecture& out);
void parse_lfm2(ConfigReader& config, Architecture& out);
void parse_qwen(ConfigReader& config, Architecture& out);
void parse_gemma(ConfigReader& config, Architecture& out);
void parse_gemma2(ConfigReader& config, Architecture& out);
void parse_gemma3_text(ConfigReader& config, Architecture& out);
void parse_gemma3(ConfigReader& config, Architecture& out);
void parse_llava(ConfigReader& config, Architecture& out);
void parse_llava_next(ConfigReader& config, Architecture& out);
void parse_phi(ConfigReader& config, Architecture& out);
void parse_phi3(ConfigReader& config, Architecture& out);
void parse_stablelm(ConfigReader& config, Architecture& out);
void parse_starcoder2(ConfigReader& config, Architecture& out);
void parse_gpt2(ConfigReader& config, Architecture& out);
void parse_gpt_bigcode(ConfigReader& config, Architecture& out);
void parse_gptj(ConfigReader& config, Architecture& out);
void parse_gpt_neox(ConfigReader& config, Architecture& out);
void parse_falcon(ConfigReader& config, Architecture& out);
void parse_bloom(ConfigReader& config, Architecture& out);
void parse_mpt(ConfigReader& config, Architecture& out);
void parse_opt(ConfigReader& config, Architecture& out);
void parse_t5(ConfigReader& config, Architecture& out);
void parse_olmoe(ConfigReader& config, Architecture& out);
void parse_modernbert(ConfigReader& config, Architecture& out);
void parse_bart(ConfigReader& config, Architecture& out);
void parse_whisper(ConfigReader& config, Architecture& out);
void parse_bert(ConfigReader& config, Architecture& out);
void parse_roberta(ConfigReader& config, Architecture& out);
void parse_electra(ConfigReader& config, Architecture& out);
void parse_ernie(ConfigReader& config, Architecture& out);
void parse_distilbert(ConfigReader& config, Architecture& out);
void parse_vit(ConfigReader& config, Architecture& out);
void parse_clip(ConfigReader& config, Architecture& out);
void parse_clip_text(ConfigReader& config, Architecture& out);
void parse_clip_vision(ConfigReader& config, Architecture& out);
void parse_arcee(ConfigReader& config, Architecture& out);
void parse_cohere(ConfigReader& config, Architecture& out);
void parse_cohere2(ConfigReader& config, Architecture& out);
void parse_ernie4_5(ConfigReader& config, Architecture& out);
void parse_exaone4(ConfigReader& config, Architecture& out);
void parse_glm(ConfigReader& config, Architecture& out);
void parse_glm4(ConfigReader& config, Architecture& out);
void parse_helium(ConfigReader& config, Architecture& out);
void parse_hunyuan(ConfigReader& config, Architecture& out);
void parse_ministral(ConfigReader& config, Architecture& out);
void parse_nemotron(ConfigReader& config, Architecture& out);
void parse_olmo(ConfigReader& config, Architecture& out);
void parse_olmo2(ConfigReader& config, Architecture& out);
void parse_olmo3(ConfigReader& config, Architecture& out);
void parse_seed_oss(ConfigReader& config, Architecture& out);
void parse_smollm3(ConfigReader& config, Architecture& out);
void parse_deepseek_v2(ConfigReader& config, Architecture& out);
void parse_deepseek_v3(ConfigReader& config, Architecture& out);
void parse_gpt_oss(ConfigReader& config, Architecture& out);
void parse_granite_moe(ConfigReader& config, Architecture& out);
void parse_granite_moe_shared(ConfigReader& config, Architecture& out);
void parse_phimoe(ConfigReader& config, Architecture& out);
void parse_deit(ConfigReader& config, Architecture& out);
void parse_dinov2(ConfigReader& config, Architecture& out);
void parse_dinov2_with_registers(ConfigReader& config, Architecture& out);
void parse_siglip(ConfigReader& config, Architecture& out);
void parse_siglip_vision(ConfigReader& config, Architecture& out);
void parse_wav2vec2(ConfigReader& config, Architecture& out);
void parse_hubert(ConfigReader& config, Architecture& out);
void parse_pegasus(ConfigReader& config, Architecture& out);
void parse_mamba(ConfigReader& config, Architecture& out);
void parse_falcon_mamba(ConfigReader& config, Architecture& out);
void parse_transformer(ConfigReader& config, Architecture& out);

}  // namespace headroom::estimate
