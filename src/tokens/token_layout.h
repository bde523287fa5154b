// SPDX-License-Identifier: Apache-2.0
// Where the token ids lie in a file that another program tokenised: NumPy's .npy, and .bin as
// nanoGPT and llm.c write it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/random_access.h"
#include "base/result.h"
#include "tokens/merges.h"

namespace headroom::tokens {

// All of them little-endian.
enum class TokenType : std::uint8_t { uint16, uint32, int32, int64 };
std::uint64_t size_of(TokenType type);  // Bytes of one.
std::string_view to_string(TokenType type);

struct TokenLayout {
  // What tells the type: the file; the job; or, as neither does, the size of the vocabulary.
  enum class Source : std::uint8_t { file, job, vocabulary };

  TokenType type = TokenType::uint16;
  std::uint64_t offset = 0;   // Bytes in front of the first one.
  std::uint64_t count = 0;    // All of them; they fit into the file.
  std::uint64_t columns = 0;  // Of an array with rows, at least 1; 0: one stream.
  Source source = Source::file;
};

// What is known of a .bin file without a header.
struct BinHints {
  std::optional<TokenType> type;  // As the job says.
  std::uint64_t vocabulary = 0;
};

// A .bin file: tokens from the first byte to the last, as nanoGPT's prepare.py writes them; or
// llm.c's header (dev/data/data_common.py), which is 256 int32: a magic number (20240520: uint16,
// version 1; 20240801: uint32, version 7), the version, the count. Without that header and without
// a hint of the type, tokens are uint16 if every id below the vocabulary fits, else uint32; see
// looks_wider(). Fails on a file without tokens, on bytes that are no whole tokens, and on a header
// that contradicts the file or the hint.
Result<TokenLayout> read_bin_layout(const RandomAccess& file, const BinHints& hints);

// Whether tokens read as uint16 are those of a uint32 file: every second one is 0. `any_odd` are
// the bits that any token in an odd place has. Only files with some length tell.
bool looks_wider(const TokenLayout& layout, std::uint64_t any_odd);

// The first token of some that is no id below the vocabulary.
struct Misfit {
  std::size_t place = 0;
  std::int64_t value = 0;
};
// Requires: `bytes` holds ids.size() tokens. What lies behind a misfit is not decoded.
std::optional<Misfit> decode_tokens(TokenType type, std::string_view bytes,
                                    std::uint64_t vocabulary, std::span<Id> ids);

}  // namespace headroom::tokens
