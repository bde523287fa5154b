// SPDX-License-Identifier: Apache-2.0
// Graphics cards by the name people use, from data/cards.toml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace headroom::knowledge {

enum class Vendor : std::uint8_t { amd, nvidia };
std::string_view to_string(Vendor vendor);  // "AMD", "NVIDIA"

// The best fused attention kernel that PyTorch has for a card.
enum class FusedAttention : std::uint8_t { none, efficient, flash };

// What a process takes on any card of a vendor.
struct VendorFacts {
  Bytes context;         // Before its first tensor.
  Bytes blas_workspace;  // Per handle.
};

// In the order of their prices.
enum class CardClass : std::uint8_t { consumer, workstation, server };

struct Card {
  std::string name;
  Vendor vendor = Vendor::amd;
  std::string target;         // "gfx906", "sm_80".
  Bytes vram;                 // What a job may count on: AMD's kernel, NVIDIA's driver.
  std::vector<double> shows;  // In GiB: what PyTorch's messages call its total capacity.
  Bytes context;
  Bytes blas_workspace;                // Per handle.
  std::uint64_t resident_threads = 0;  // All that its multiprocessors hold at once; 0: not known.
  FusedAttention attention = FusedAttention::none;
  double tflops16 = 0;  // Peak of dense products; the makers' figures.
  double tflops32 = 0;
  double gb_s = 0;  // 10^9 bytes a second.
  CardClass kind = CardClass::consumer;
};

// All of them, in the order of the table.
Result<std::vector<Card>> load_cards();

// By name without regard to case, blanks and the makers' words: "mi50", "rx7900xt", "NVIDIA A100
// 80GB". A name that no card has is an error that names the nearest card.
Result<Card> find_card(std::string_view name);

// What a capacity tells where only cards of one vendor show it, to 0.01 GiB.
struct Telling {
  Vendor vendor = Vendor::amd;
  std::optional<Card> card;  // Where it is one card's alone.
};
// Nothing where no card shows this capacity, or cards of both vendors do.
Result<std::optional<Telling>> find_by_capacity(Bytes capacity);

Result<VendorFacts> find_vendor(Vendor vendor);

}  // namespace headroom::knowledge
