// SPDX-License-Identifier: Apache-2.0
// The sizes of a tensor's dimensions, in elements, outermost first. At most six; they live in the
// object itself, because a plan makes tens of thousands of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace headroom::estimate {

class Shape {
 public:
  static constexpr std::size_t dimensions_max = 6;
  using value_type = std::uint64_t;
  using const_iterator = const std::uint64_t*;

  constexpr Shape() = default;
  // Requires: at most dimensions_max.
  constexpr Shape(std::initializer_list<std::uint64_t> sizes) {
    for (const std::uint64_t size : sizes) push_back(size);
  }

  constexpr void push_back(std::uint64_t size) {
    if (count_ < dimensions_max) sizes_[count_++] = size;
  }
  constexpr std::size_t size() const { return count_; }
  constexpr bool empty() const { return count_ == 0; }
  constexpr std::uint64_t& operator[](std::size_t i) { return sizes_[i]; }
  constexpr std::uint64_t operator[](std::size_t i) const { return sizes_[i]; }
  constexpr std::uint64_t front() const { return sizes_[0]; }
  constexpr std::uint64_t& back() { return sizes_[count_ - 1U]; }
  constexpr std::uint64_t back() const { return sizes_[count_ - 1U]; }
  constexpr const_iterator begin() const { return sizes_.data(); }
  constexpr const_iterator end() const { return sizes_.data() + count_; }
  constexpr bool operator==(const Shape& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  std::array<std::uint64_t, dimensions_max> sizes_{};
  std::uint8_t count_ = 0;
};

}  // namespace headroom::estimate
