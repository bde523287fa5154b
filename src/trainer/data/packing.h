// SPDX-License-Identifier: Apache-2.0
// Which samples lie end to end in which row of a batch, so that short ones need no padding.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace headroom::trainer::data {

class Packing {
 public:
  // Best fit decreasing (Johnson 1973; as TRL's packing_strategy "bfd") in one window of samples
  // after the other, each of as many tokens as fill 256 rows: the longest sample that is left goes
  // into the row that it leaves least room in, or else begins one. The order decides, and nothing
  // else. Requires: `length_of` any sample is at most `longest`.
  static Packing pack(std::span<const std::size_t> order,
                      const std::function<std::uint64_t(std::size_t)>& length_of,
                      std::uint64_t longest);

  std::size_t rows() const { return starts_.size() - 1; }
  std::span<const std::size_t> row(std::size_t index) const {
    return std::span(samples_).subspan(starts_[index], starts_[index + 1] - starts_[index]);
  }

 private:
  std::vector<std::size_t> samples_;       // Row by row.
  std::vector<std::size_t> starts_ = {0};  // Where rows begin in them, and the end.
};

}  // namespace headroom::trainer::data
