// SPDX-License-Identifier: Apache-2.0
// Plain loops over blocks that fit into the first cache; the compiler makes vectors of them
// (docs/decisions/0028 has what was measured).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-loop-distribute-patterns")  // Or g++ makes copies calls of memcpy.
#endif
#include "averager/kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// One copy of each loop for processors with AVX2, chosen when the library is loaded. The thread
// sanitizer cannot be called as early as that choice is made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define HEADROOM_FOR_PROCESSORS __attribute__((target_clones("default", "avx2")))
#else
#define HEADROOM_FOR_PROCESSORS
#endif

// The iterations of the loop that follows do not depend on each other, whatever their pointers are.
#if defined(__clang__)
#define HEADROOM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define HEADROOM_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace headroom::averager {
namespace {

constexpr std::size_t block = 1024;

// `into` may be `left`, as often below: elements do not depend on each other.
HEADROOM_FOR_PROCESSORS
void add(const float* left, const float* right, float* into, std::size_t count) {
  HEADROOM_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) into[i] = left[i] + right[i];
}

// A power of two is divided by exactly by its inverse, which is several times faster.
HEADROOM_FOR_PROCESSORS
void add_and_multiply(const float* left, const float* right, float factor, float* into,
                      std::size_t count) {
  HEADROOM_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) into[i] = (left[i] + right[i]) * factor;
}

HEADROOM_FOR_PROCESSORS
void add_and_divide(const float* left, const float* right, float divisor, float* into,
                    std::size_t count) {
  HEADROOM_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) into[i] = (left[i] + right[i]) / divisor;
}

HEADROOM_FOR_PROCESSORS
void multiply(float* into, float factor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) into[i] *= factor;
}

HEADROOM_FOR_PROCESSORS
void divide(float* into, float divisor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) into[i] /= divisor;
}

HEADROOM_FOR_PROCESSORS
void widen(const std::uint16_t* __restrict from, float* __restrict into, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    into[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16U);
}

HEADROOM_FOR_PROCESSORS
void add_widened(float* __restrict into, const std::uint16_t* __restrict from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    into[i] += std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16U);
}

HEADROOM_FOR_PROCESSORS
void narrow(const float* __restrict from, std::uint16_t* __restrict into, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const std::uint32_t nearest = (bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U;
    const std::uint32_t quiet_nan = bits >> 16U | 0x40U;
    const bool is_nan = (bits & 0x7fff'ffffU) > 0x7f80'0000U;
    into[i] = static_cast<std::uint16_t>(is_nan ? quiet_nan : nearest);
  }
}

void scale(float* into, std::uint32_t divisor, std::size_t count) {
  if (divisor == 1) return;
  if (std::has_single_bit(divisor))
    multiply(into, 1.0F / static_cast<float>(divisor), count);
  else
    divide(into, static_cast<float>(divisor), count);
}

void add_last(const float* left, const float* right, std::uint32_t divisor, float* into,
              std::size_t count) {
  if (divisor == 1)
    add(left, right, into, count);
  else if (std::has_single_bit(divisor))
    add_and_multiply(left, right, 1.0F / static_cast<float>(divisor), into, count);
  else
    add_and_divide(left, right, static_cast<float>(divisor), into, count);
}

void sum_floats(std::span<const std::byte* const> inputs, std::uint32_t divisor, float* into,
                std::size_t begin, std::size_t count) {
  const auto input = [&](std::size_t which) {
    return reinterpret_cast<const float*>(inputs[which]) + begin;
  };
  if (inputs.size() == 1) {
    std::copy_n(input(0), count, into);
    return scale(into, divisor, count);
  }
  const float* left = input(0);
  const std::size_t last = inputs.size() - 1;
  for (std::size_t which = 1; which < last; ++which, left = into)
    add(left, input(which), into, count);
  add_last(left, input(last), divisor, into, count);
}

void sum_bfloats(std::span<const std::byte* const> inputs, std::uint32_t divisor,
                 std::uint16_t* into, std::size_t begin, std::size_t count) {
  std::array<float, block> sums;  // NOLINT(cppcoreguidelines-pro-type-member-init): written first.
  const auto input = [&](std::size_t which) {
    return reinterpret_cast<const std::uint16_t*>(inputs[which]) + begin;
  };
  widen(input(0), sums.data(), count);
  for (std::size_t which = 1; which < inputs.size(); ++which)
    add_widened(sums.data(), input(which), count);
  scale(sums.data(), divisor, count);
  narrow(sums.data(), into, count);
}

// What is moved at once; copies of a fixed size become loads and stores, not calls.
constexpr std::size_t line = 64;

HEADROOM_FOR_PROCESSORS
void copy_lines(const std::byte* from, std::byte* to, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i) {
    std::array<std::byte, line> moved;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::memcpy(moved.data(), from + i * line, line);
    std::memcpy(to + i * line, moved.data(), line);
  }
}

// Requires: `to` is aligned to a line.
void copy_lines_past_caches(const std::byte* from, std::byte* to, std::size_t lines) {
#if defined(__SSE2__)
  constexpr std::size_t part = sizeof(__m128i);
  for (std::size_t at = 0; at < lines * line; at += part)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
  _mm_sfence();
#else
  copy_lines(from, to, lines);
#endif
}

}  // namespace

void copy(const std::byte* from, std::byte* to, std::size_t bytes, bool stays_out) {
  const std::size_t to_line = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
  const std::size_t head = std::min(bytes, to_line);
  std::memcpy(to, from, head);
  const std::size_t lines = (bytes - head) / line;
  if (stays_out)
    copy_lines_past_caches(from + head, to + head, lines);
  else
    copy_lines(from + head, to + head, lines);
  const std::size_t done = head + lines * line;
  std::memcpy(to + done, from + done, bytes - done);
}

void sum(ElementType type, std::span<const std::byte* const> inputs, std::uint32_t divisor,
         std::byte* into, std::size_t elements) {
  for (std::size_t begin = 0; begin < elements; begin += block) {
    const std::size_t count = std::min(block, elements - begin);
    if (type == ElementType::float32)
      sum_floats(inputs, divisor, reinterpret_cast<float*>(into) + begin, begin, count);
    else
      sum_bfloats(inputs, divisor, reinterpret_cast<std::uint16_t*>(into) + begin, begin, count);
  }
}

}  // namespace headroom::averager
