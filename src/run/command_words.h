// SPDX-License-Identifier: Apache-2.0
// The words of a command that a person types: which of them is the program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::run {

// "vllm" of "/opt/venv/bin/vllm".
std::string_view base_name(std::string_view path);

// "FORCE_TORCHRUN=1" before a command, or env's own word.
bool is_assignment(std::string_view word);

// The place of the program, behind the assignments; words.size() if there is none.
std::size_t program_at(const std::vector<std::string>& words);

}  // namespace headroom::run
