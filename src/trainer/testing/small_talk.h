// SPDX-License-Identifier: Apache-2.0
// A tokenizer with few tokens, and a conversation in them.
#pragma once

namespace headroom::trainer::testing {

// Letters, two merges and the tokens of ChatML.
inline constexpr const char* small_tokenizer_json = R"({
  "added_tokens": [{"id": 10, "content": "<|im_start|>", "special": true},
                   {"id": 11, "content": "<|im_end|>", "special": true},
                   {"id": 12, "content": "<eos>", "special": true}],
  "model": {"type": "BPE", "merges": ["h i", "y o"],
            "vocab": {"h": 0, "i": 1, "y": 2, "o": 3, "\n": 4, "hi": 5, "yo": 6, "u": 7, "s": 8, "e": 9}}})";

inline constexpr const char* talk =
    R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]})";

}  // namespace headroom::trainer::testing
