// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/packing.h"

#include <algorithm>
#include <map>

namespace headroom::trainer::data {
namespace {

constexpr std::uint64_t rows_of_window = 256;

using Rows = std::vector<std::vector<std::size_t>>;

struct Item {
  std::size_t sample;
  std::uint64_t length;
};

Rows pack_window(std::vector<Item> window, std::uint64_t longest) {
  std::stable_sort(window.begin(), window.end(),
                   [](const Item& one, const Item& other) { return one.length > other.length; });
  Rows rows;
  std::multimap<std::uint64_t, std::size_t> room;  // Of each row, which one.
  for (const auto& [sample, length] : window) {
    auto fits = room.lower_bound(length);
    if (fits == room.end()) {
      fits = room.emplace(longest, rows.size());
      rows.emplace_back();
    }
    const auto [left, row] = *fits;
    room.erase(fits);
    room.emplace(left - length, row);
    rows[row].push_back(sample);
  }
  return rows;
}

}  // namespace

Packing Packing::pack(std::span<const std::size_t> order,
                      const std::function<std::uint64_t(std::size_t)>& length_of,
                      std::uint64_t longest) {
  Packing packing;
  packing.samples_.reserve(order.size());
  std::vector<Item> window;
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    window.push_back({order[i], length_of(order[i])});
    tokens += window.back().length;
    if (tokens < rows_of_window * longest && i + 1 < order.size()) continue;
    for (const auto& row : pack_window(std::move(window), longest)) {
      packing.samples_.insert(packing.samples_.end(), row.begin(), row.end());
      packing.starts_.push_back(packing.samples_.size());
    }
    window.clear();
    tokens = 0;
  }
  return packing;
}

}  // namespace headroom::trainer::data
