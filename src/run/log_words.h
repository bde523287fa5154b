// SPDX-License-Identifier: Apache-2.0
// Values in what programs print of themselves: "n_ctx = 4096", "dtype=torch.bfloat16",
// "'seed': 0", "Num examples = 1,000".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace headroom::run {

// The whole number behind the mark and blanks, with commas between its thousands or without.
std::optional<std::uint64_t> count_behind(std::string_view line, std::string_view mark);

// The size behind the mark and blanks: "14.27 GiB", "861.40MiB".
std::optional<Bytes> size_behind(std::string_view line, std::string_view mark);

// The word behind the mark, up to a blank or a comma; without a full stop at its end. Empty: none.
std::string word_behind(std::string_view line, std::string_view mark);

// What a key has in Python's or a table's form: key=value, key = value, 'key': value. A text comes
// without its quotes, a list with its brackets. Nothing where the key is not there, or None.
std::optional<std::string> value_of_key(std::string_view line, std::string_view key);

// "Qwen/Qwen2.5-0.5B" of a path in Hugging Face's cache, ".../models--Qwen--Qwen2.5-0.5B/...".
std::string hub_name(std::string_view path);

// A model that another machine's log names by a path: the path where it is here as well, else the
// name in Hugging Face's cache, or that of a model of our table that the path ends with; else the
// path.
std::string model_at(const std::string& path);

}  // namespace headroom::run
