// SPDX-License-Identifier: Apache-2.0
// Files of token ids as NumPy, nanoGPT and llm.c write them, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::tokens::testing {

// `size` bytes each, little-endian.
inline std::string token_bytes(const std::vector<std::int64_t>& tokens, int size) {
  std::string bytes;
  for (const std::int64_t token : tokens) {
    for (int i = 0; i < size; ++i)
      bytes += static_cast<char>((static_cast<std::uint64_t>(token) >> (8 * i)) & 0xffU);
  }
  return bytes;
}

inline std::string llm_c_bytes(std::uint32_t magic, std::uint32_t version, std::int64_t count,
                               const std::string& tokens) {
  std::string bytes = token_bytes({magic, version, count}, 4);
  bytes.resize(1024, '\0');
  return bytes + tokens;
}

// As numpy.save() pads it.
inline std::string npy_bytes(const std::string& type, const std::string& shape,
                             const std::string& tokens, int version = 1,
                             const std::string& fortran = "False") {
  std::string header =
      "{'descr': " + type + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  const std::size_t front = version == 1 ? 10 : 12;
  header.append(63 - (front + header.size()) % 64, ' ');
  header += '\n';
  return "\x93NUMPY" + std::string{static_cast<char>(version), '\0'} +
         token_bytes({static_cast<std::int64_t>(header.size())}, version == 1 ? 2 : 4) + header +
         tokens;
}

// 0, 1, … below `vocabulary`, and again.
inline std::vector<std::int64_t> counted_tokens(std::int64_t count, std::int64_t vocabulary) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) tokens.push_back(i % vocabulary);
  return tokens;
}

}  // namespace headroom::tokens::testing
