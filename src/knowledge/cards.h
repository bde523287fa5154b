// SPDX-License-Identifier: Apache-2.0
// Graphics cards by the name people use, from data/cards.toml.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace headroom::knowledge {

struct Card {
  std::string name;
  std::string gfx;
  Bytes vram;
  Bytes blas_workspace;  // Per handle.
};

// By name without regard to case, blanks and the words AMD, Radeon and Instinct: "mi50",
// "rx7900xt". A name that no card has is an error that names the nearest card.
Result<Card> find_card(std::string_view name);

}  // namespace headroom::knowledge
