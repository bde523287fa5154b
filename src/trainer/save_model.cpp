// SPDX-License-Identifier: Apache-2.0
#include "trainer/save_model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/json_text.h"
#include "machine/user_files.h"
#include "trainer/stored_quantised.h"

namespace headroom::trainer {
namespace {

const char* torch_name(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? "bfloat16" : dtype == at::kDouble ? "float64" : "float32";
}

const char* architecture(const std::string& family) {
  if (family == "qwen2") return "Qwen2ForCausalLM";
  if (family == "qwen3") return "Qwen3ForCausalLM";
  if (family == "phi3") return "Phi3ForCausalLM";
  if (family == "gemma") return "GemmaForCausalLM";
  if (family == "gemma2") return "Gemma2ForCausalLM";
  if (family == "gpt2") return "GPT2LMHeadModel";
  if (family == "mistral") return "MistralForCausalLM";
  return "LlamaForCausalLM";
}

// transformers refuses files without the format.
Remarks with_format(Remarks remarks) {
  remarks["format"] = "pt";
  return remarks;
}

}  // namespace

Json make_config(const estimate::ModelConfig& config, const ModelOptions& options, Json original) {
  original["torch_dtype"] = torch_name(options.dtype);
  if (options.quantised)
    original["quantization_config"] =
        make_quantization_config(*options.quantised, torch_name(options.dtype));
  if (!original.contains("architectures")) {
    original["architectures"] = Json::array({architecture(config.family)});
  }
  return original;
}

Json make_adapter_config(const estimate::ModelConfig& config, const LoraOptions& lora,
                         const Json& base) {
  const auto whole = static_cast<std::int64_t>(lora.alpha);
  return {{"peft_type", "LORA"},
          {"task_type", "CAUSAL_LM"},
          {"base_model_name_or_path", base},
          {"r", lora.rank},
          {"lora_alpha", static_cast<double>(whole) == lora.alpha ? Json(whole) : Json(lora.alpha)},
          {"lora_dropout", lora.dropout},
          {"target_modules", adapted_modules(config, lora.targets)},
          {"bias", "none"},
          {"fan_in_fan_out", config.is_gpt2()},
          {"inference_mode", true},
          {"init_lora_weights", true},
          {"layers_to_transform", nullptr},
          {"modules_to_save", nullptr},
          {"use_rslora", false},
          {"use_dora", false}};
}

Status save_model(const std::string& folder, Model& model, const Json& config, Remarks remarks,
                  const TensorWriter& writer) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value, is_copy, quantised] : model.stored()) {
    if (quantised) {
      add_parts(name, *quantised, tensors);
    } else if (!is_copy) {
      tensors.push_back({name, value});
    }
  }
  // Readers take a tensor's bytes for numbers where they lie: wide ones first, so that all are
  // aligned.
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto& left, const auto& right) {
    return left.tensor.element_size() > right.tensor.element_size();
  });
  HEADROOM_CHECK(
      writer.write(folder + "/model.safetensors", tensors, with_format(std::move(remarks))));
  if (!writer.writes()) return Done{};
  const Json written = make_config(model.config(), model.options(), config);
  return machine::write_file_atomic(folder + "/config.json", to_json_text(written, 2) + "\n");
}

Status save_adapter(const std::string& folder, Model& model, const Json& base, Remarks remarks,
                    const TensorWriter& writer) {
  std::vector<NamedTensor> tensors;
  for (const Parameter& parameter : model.adapters()) {
    tensors.push_back({"base_model.model." + parameter.name, parameter.value});
  }
  HEADROOM_CHECK(writer.write(folder + "/adapter_model.safetensors", tensors,
                              with_format(std::move(remarks))));
  if (!writer.writes()) return Done{};
  const Json config = make_adapter_config(model.config(), *model.options().lora, base);
  return machine::write_file_atomic(folder + "/adapter_config.json",
                                    to_json_text(config, 2) + "\n");
}

}  // namespace headroom::trainer
