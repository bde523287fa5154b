// SPDX-License-Identifier: Apache-2.0
// A GGUF file's own description of its model, in the words of the model's config.json: one reader
// of families (parse_architecture) then serves both. Names of keys and tensors: llama.cpp's
// gguf-py/gguf/constants.py; which config key each was made from: its convert_hf_to_gguf.py.
#pragma once

#include "base/document_fwd.h"
#include "base/result.h"
#include "estimate/files/gguf_header.h"

namespace headroom::estimate {

// Fails, naming the key, where a key without which no model can be described is missing: such a
// file holds an adapter, a projector or a vocabulary. What the tensors tell (rows of the embedding,
// biases, a head of its own) is taken from them rather than from a family's defaults. An
// architecture that this version does not know keeps its own name as model_type.
Result<Json> to_config(const GgufHeader& header);

}  // namespace headroom::estimate
