// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/checksum.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "machine/checksum.h"
#include "trainer/data/pieces.h"

namespace headroom::trainer::data {
namespace {

constexpr std::size_t piece_bytes = std::size_t{4} << 20U;
constexpr std::size_t piece_samples = 4096;

// The sum of the sums that `sum_of` gives for the pieces 0 … count−1.
template <class SumOfPiece>
std::string sum_pieces(std::size_t count, const SumOfPiece& sum_of) {
  std::vector<std::string> sums(count);
  do_pieces(count, [&](std::size_t piece) { sums[piece] = sum_of(piece); });
  std::string all;
  for (const std::string& sum : sums) all += sum;
  return machine::sha256(all);
}

std::size_t pieces_of(std::size_t size, std::size_t piece) {
  return (size + piece - 1) / piece;
}

void append_number(std::int64_t number, std::string& bytes) {
  for (unsigned shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>((static_cast<std::uint64_t>(number) >> shift) & 0xffU);
}

std::string sum_samples(const Samples& samples, std::size_t begin, std::size_t end) {
  std::string bytes;
  for (std::size_t i = begin; i < end; ++i) {
    append_number(static_cast<std::int64_t>(samples[i].size()), bytes);
    bytes.append(reinterpret_cast<const char*>(samples[i].data()),
                 samples[i].size() * sizeof(samples[i][0]));
  }
  return machine::sha256(bytes);
}

}  // namespace

std::string checksum_of(std::string_view bytes) {
  return sum_pieces(pieces_of(bytes.size(), piece_bytes), [&](std::size_t piece) {
    return machine::sha256(bytes.substr(piece * piece_bytes, piece_bytes));
  });
}

std::string checksum_of(const Samples& samples) {
  return sum_pieces(pieces_of(samples.size(), piece_samples), [&](std::size_t piece) {
    const std::size_t begin = piece * piece_samples;
    return sum_samples(samples, begin, std::min(samples.size(), begin + piece_samples));
  });
}

}  // namespace headroom::trainer::data
