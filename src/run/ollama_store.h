// SPDX-License-Identifier: Apache-2.0
// ollama's store of models: manifests by name, blobs by digest. Source: ollama/ollama,
// manifest/paths.go, types/model/name.go and server/images.go.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace headroom::run {

struct StoredModel {
  std::string weights;  // The path of the GGUF blob.
  // The Modelfile's parameters: {"num_ctx", "8192"}.
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<std::string> notes;  // Layers that are not planned.
};

// `name` as ollama takes it: "llama3.2", "library/llama3.2:3b", "hf.co/org/repo:Q4_K_M". Fails
// where none of the folders has it, and on a manifest that is none.
Result<StoredModel> find_ollama_model(const std::string& name,
                                      const std::vector<std::string>& folders);

}  // namespace headroom::run
