// SPDX-License-Identifier: Apache-2.0
#include "tokens/sentencepiece/piece_tree.h"

#include <algorithm>

namespace headroom::tokens {

PieceTree::PieceTree(std::vector<std::pair<std::string_view, Id>> pieces) {
  std::sort(pieces.begin(), pieces.end());
  struct Range {
    std::size_t begin, end, depth;  // Pieces that share the bytes of a node.
  };
  std::vector<Range> ranges = {{0, pieces.size(), 0}};  // By node.
  bytes_.push_back(0);
  for (std::size_t node = 0; node < ranges.size(); ++node) {
    auto [begin, end, depth] = ranges[node];
    const bool ends_here = begin < end && pieces[begin].first.size() == depth;
    pieces_.push_back(ends_here ? pieces[begin].second : -1);
    if (ends_here) ++begin;
    first_child_.push_back(static_cast<Node>(ranges.size()));
    while (begin < end) {
      const char byte = pieces[begin].first[depth];
      std::size_t same = begin + 1;
      while (same < end && pieces[same].first[depth] == byte) ++same;
      ranges.push_back({begin, same, depth + 1});
      bytes_.push_back(static_cast<unsigned char>(byte));
      begin = same;
    }
    children_.push_back(static_cast<std::uint16_t>(ranges.size() - first_child_.back()));
  }
}

std::optional<PieceTree::Node> PieceTree::step(Node node, char byte) const {
  const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(first_child_[node]);
  const auto end = begin + children_[node];
  const auto wanted = static_cast<unsigned char>(byte);
  const auto found = std::lower_bound(begin, end, wanted);
  if (found == end || *found != wanted) return std::nullopt;
  return static_cast<Node>(found - bytes_.begin());
}

}  // namespace headroom::tokens
