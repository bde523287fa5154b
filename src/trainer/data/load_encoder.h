// SPDX-License-Identifier: Apache-2.0
// How a job's text becomes token ids: by a tokenizer.json, by a tokenizer.model of SentencePiece,
// or byte by byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tokens/text_encoder.h"
#include "trainer/data/samples.h"

namespace headroom::trainer::data {

// The token that ends a text is the "eos_token" of the tokenizer_config.json beside the tokenizer,
// else Source::end_of_text; adds a note if there is neither. Fails on a tokenizer that cannot be
// read or is not known, on a tokenizer.model with more pieces than the model has rows, and on bytes
// for a model with too small a vocabulary for them.
Result<std::unique_ptr<tokens::TextEncoder>> load_encoder(const Source& source,
                                                          std::vector<std::string>& notes);

}  // namespace headroom::trainer::data
