// SPDX-License-Identifier: Apache-2.0
// Pieces as a tree of their bytes, to find all that begin at a place of a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tokens/vocabulary.h"

namespace headroom::tokens {

class PieceTree {
 public:
  using Node = std::uint32_t;
  static constexpr Node root = 0;

  PieceTree() : PieceTree(std::vector<std::pair<std::string_view, Id>>()) {}
  // Requires: the texts differ and are not empty, and have fewer than 2^31 bytes in all. They are
  // not kept.
  explicit PieceTree(std::vector<std::pair<std::string_view, Id>> pieces);

  std::optional<Node> step(Node node, char byte) const;
  // −1: no piece ends there.
  Id piece(Node node) const { return pieces_[node]; }

 private:
  // Children of a node stand side by side, in the order of their bytes.
  std::vector<Node> first_child_;
  std::vector<std::uint16_t> children_;
  std::vector<unsigned char> bytes_;
  std::vector<Id> pieces_;
};

}  // namespace headroom::tokens
