// SPDX-License-Identifier: Apache-2.0
// What bitsandbytes writes beside a packed weight in a safetensors file: JSON, whose bytes are the
// tensor `weight.quant_state.bitsandbytes__nf4`. Source: bitsandbytes: bitsandbytes/functional.py
// (QuantState.as_dict, from_dict), utils.py (pack_dict_to_tensor).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headroom::trainer::quantised {

struct QuantState {
  std::string dtype = "float32";  // What is dequantised into: float32, bfloat16 or float16.
  std::int64_t rows = 0;          // Of the weight, [out, in].
  std::int64_t columns = 0;
  std::optional<float> nested_offset = {};  // If the scales are quantised as well.
};

// Fails where the text is no such JSON, or of another type, block size or kind of shape than is
// read here; the message says what was expected and what was found.
Result<QuantState> parse_quant_state(std::string_view text);

// As bitsandbytes writes it.
std::string to_text(const QuantState& state);

}  // namespace headroom::trainer::quantised
