// SPDX-License-Identifier: Apache-2.0
// Bytes that look like chance and are the same for the same seed: whoever has read them can tell
// whether one is missing, or out of its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace headroom::testing {

class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed * 2654435761U + 1) {}

  void fill(std::span<char> bytes) {
    for (char& byte : bytes) byte = next();
  }
  // The next bytes are these.
  bool continues_with(std::string_view bytes) {
    for (const char byte : bytes) {
      if (byte != next()) return false;
    }
    return true;
  }

 private:
  // The linear congruential generator of Knuth's MMIX.
  char next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<char>(state_ >> 56U);
  }
  std::uint64_t state_;
};

}  // namespace headroom::testing
