// SPDX-License-Identifier: Apache-2.0
// SentencePiece's precompiled_charsmap: what characters, and sequences of them, become before a
// text is cut into pieces (nmt_nfkc, for instance). The format is the size of a tree in bytes, the
// tree as a double array of Darts-clone (https://github.com/s-yata/darts-clone), and the texts that
// its leaves point to, each ended by a zero byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::tokens {

class CharacterMap {
 public:
  struct Match {
    std::size_t length = 0;      // In bytes of the text.
    std::string_view text = {};  // What it becomes; a part of the map.
  };

  // Empty bytes: nothing is changed. Fails (invalid) where the sizes do not fit together.
  static Result<CharacterMap> parse(std::string_view bytes);

  // The longest sequence at the beginning of `text` that the map has.
  std::optional<Match> longest(std::string_view text) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace headroom::tokens
