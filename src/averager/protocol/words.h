// SPDX-License-Identifier: Apache-2.0
// The words of shared memory by which ranks agree, and what each holds. A word carries the number
// of the bucket that it is about, so nothing is ever reset: a word of an earlier bucket reads as
// empty. That leaves no moment at which a reset is half done because the rank that did it died.
#pragma once

#include <cstdint>

namespace headroom::averager::protocol {

constexpr std::uint32_t max_ranks = 16;
constexpr std::uint32_t max_slots = 64;

// One bit per rank.
using RankMask = std::uint16_t;

constexpr RankMask bit(std::uint32_t rank) {
  return static_cast<RankMask>(1U << rank);
}
constexpr RankMask all_of(std::uint32_t ranks) {
  return static_cast<RankMask>((1U << ranks) - 1U);
}

// Buckets are numbered from 0 in the order in which every rank starts them. Bucket b uses slot
// b % slots. Words hold the number plus one, because fresh memory is zero.
using Bucket = std::uint32_t;
constexpr Bucket last_bucket = 0xffff'fff0U;

// What one rank is at present. Whoever has joined and not died or left is *live*.
enum class Life : std::uint8_t { absent, joining, member, left, dead };

struct LifeWord {
  std::uint32_t incarnation = 0;  // Counts the processes that have been this rank.
  Life life = Life::absent;
  bool operator==(const LifeWord&) const = default;
};
constexpr std::uint64_t to_word(LifeWord life) {
  return std::uint64_t{life.incarnation} << 8U | static_cast<std::uint64_t>(life.life);
}
constexpr LifeWord to_life(std::uint64_t word) {
  return {.incarnation = static_cast<std::uint32_t>(word >> 8U),
          .life = static_cast<Life>(word & 0xffU)};
}
constexpr bool is_live(std::uint64_t word) {
  const Life life = to_life(word).life;
  return life == Life::member || life == Life::joining;
}

// Which ranks' inputs are complete (slot word `arrived`).
struct Arrived {
  Bucket bucket = 0;
  RankMask ranks = 0;
};
constexpr std::uint64_t to_word(Arrived arrived) {
  return (std::uint64_t{arrived.bucket} + 1) << 32U | arrived.ranks;
}
constexpr RankMask arrived_ranks(std::uint64_t word, Bucket bucket) {
  return word >> 32U == std::uint64_t{bucket} + 1 ? static_cast<RankMask>(word) : RankMask{0};
}

// What was decided of a bucket, once and for all (slot word `decided`): whose inputs make the
// result, and who is waited for at the next bucket.
struct Decision {
  Bucket bucket = 0;
  RankMask present = 0;
  RankMask next = 0;
  bool operator==(const Decision&) const = default;
};
constexpr std::uint64_t to_word(Decision decision) {
  return (std::uint64_t{decision.bucket} + 1) << 32U | std::uint64_t{decision.next} << 16U |
         decision.present;
}
constexpr bool is_decided(std::uint64_t word, Bucket bucket) {
  return word >> 32U == std::uint64_t{bucket} + 1;
}
// Requires: the word is not zero.
constexpr Decision to_decision(std::uint64_t word) {
  return {.bucket = static_cast<Bucket>((word >> 32U) - 1),
          .present = static_cast<RankMask>(word),
          .next = static_cast<RankMask>(word >> 16U)};
}

// How far one chunk of a bucket is. `summing` reads inputs and writes the worker's own scratch
// alone, so anyone may begin again; from `summed` on the result is whole in the scratch of the rank
// that summed it, and inputs may be overwritten with it by the worker, so anyone may go on.
enum class Stage : std::uint8_t { open, summing, summed, done };

struct Chunk {
  Bucket bucket = 0;
  Stage stage = Stage::open;
  std::uint8_t worker = 0;
  std::uint8_t scratch = 0;
};
constexpr std::uint64_t to_word(Chunk chunk) {
  return (std::uint64_t{chunk.bucket} + 1) << 32U | std::uint64_t{chunk.scratch} << 16U |
         std::uint64_t{chunk.worker} << 8U | static_cast<std::uint64_t>(chunk.stage);
}
constexpr Chunk to_chunk(std::uint64_t word, Bucket bucket) {
  if (word >> 32U != std::uint64_t{bucket} + 1) return {.bucket = bucket};
  return {.bucket = bucket,
          .stage = static_cast<Stage>(word & 0xffU),
          .worker = static_cast<std::uint8_t>(word >> 8U),
          .scratch = static_cast<std::uint8_t>(word >> 16U)};
}

// What `finished` of a rank holds while it joins: nobody waits for it.
constexpr std::uint64_t finished_everything = ~std::uint64_t{0};

// Where a word is. `index` is a rank (life, finished) or a slot (arrived, decided, chunk).
enum class Area : std::uint8_t { bell, life, finished, arrived, decided, chunk };

struct Word {
  Area area = Area::bell;
  std::uint32_t index = 0;
  std::uint32_t chunk = 0;
  bool operator==(const Word&) const = default;
};

}  // namespace headroom::averager::protocol
