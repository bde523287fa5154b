// SPDX-License-Identifier: Apache-2.0
// What a tensor is called within its scope: up to three texts that live as long as the recording
// (literals, or what Recorder::intern keeps), put together only when somebody reads them. Tens of
// thousands of tensors are named for one plan, and a dozen of the names are ever printed.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace headroom::estimate {

class Name {
 public:
  constexpr Name() = default;
  template <std::size_t N>
  constexpr Name(const char (&literal)[N]) : parts_{literal, "", ""} {}  // NOLINT: as a text

  // "gate_proj" + ".input_grad"
  template <std::size_t N>
  friend constexpr Name operator+(Name name, const char (&suffix)[N]) {
    std::size_t part = 0;
    while (part < 2 && name.parts_[part][0] != 0) ++part;
    name.parts_[part] = suffix;
    return name;
  }

  constexpr bool empty() const { return parts_[0][0] == 0; }
  std::string text() const { return std::string(parts_[0]) + parts_[1] + parts_[2]; }

 private:
  friend class Recorder;
  explicit constexpr Name(const char* kept, int /*lasting*/) : parts_{kept, "", ""} {}

  std::array<const char*, 3> parts_{"", "", ""};
};

}  // namespace headroom::estimate
