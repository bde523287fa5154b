// SPDX-License-Identifier: Apache-2.0
// A trained model in the formats that Hugging Face transformers and PEFT read.
#pragma once

#include <string>

#include "base/document_fwd.h"
#include "base/result.h"
#include "trainer/model.h"
#include "trainer/tensor_writer.h"

namespace headroom::trainer {

// Every program that reads such files ignores remarks whose names it does not know. Where `writer`
// does not write, nothing is written here.

// model.safetensors and config.json: `config` (as read) with torch_dtype, and architectures where
// it has none. Quantised matrices are written as bitsandbytes writes them, and config.json says so.
Status save_model(const std::string& folder, Model& model, const Json& config, Remarks remarks = {},
                  const TensorWriter& writer = {});

// adapter_model.safetensors and adapter_config.json, as peft.PeftModel.from_pretrained() reads
// them. `base` is what base_model_name_or_path says: a folder or a name, or null.
Status save_adapter(const std::string& folder, Model& model, const Json& base, Remarks remarks = {},
                    const TensorWriter& writer = {});

// The contents of the two configuration files. Pure.
Json make_config(const estimate::ModelConfig& config, const ModelOptions& options, Json original);
Json make_adapter_config(const estimate::ModelConfig& config, const LoraOptions& lora,
                         const Json& base);

}  // namespace headroom::trainer
