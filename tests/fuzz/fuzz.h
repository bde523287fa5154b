// SPDX-License-Identifier: Apache-2.0
// What every fuzzer has in common: the input as text, and a check that ends the program, because a
// parser that answers nonsense is as broken as one that crashes. Each fuzzer takes the text that
// one parser reads in the field, and holds the parser to what its header promises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace headroom::fuzz {

inline std::string_view to_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the program, which libFuzzer reports with the input, if a promise was broken.
inline void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace headroom::fuzz

// libFuzzer's entry point; the seeds' test gives each its own name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
