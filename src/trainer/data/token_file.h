// SPDX-License-Identifier: Apache-2.0
// A file of token ids that another program made (tokens/token_layout.h), read where it lies: a
// sample at a time, with pread, so that a file that is cut short while it is in use is an error.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/random_access.h"
#include "base/result.h"
#include "tokens/token_layout.h"
#include "trainer/data/samples.h"

namespace headroom::trainer::data {

// Holds the file open. Reading is safe from several threads.
class TokenFile {
 public:
  // By source.kind, "bin" or "npy". Fails on what cannot be read, is no regular file, or is not
  // laid out so.
  static Result<TokenFile> open(const Source& source, const std::string& path);

  const std::string& path() const { return path_; }
  const tokens::TokenLayout& layout() const { return layout_; }

  // Reads every token once. Returns a checksum of the layout and of all of them: 64 hexadecimal
  // digits. Fails at the first that is no id below the vocabulary, with its place, and where the
  // type that the layout took for lack of a better one cannot be the right one.
  Result<std::string> check() const;

  // Those from `first` on. Fails where the file has become shorter, and as check() does at a token
  // that is no longer an id. Requires: that many are there.
  Status read(std::uint64_t first, std::span<std::int32_t> ids) const;

 private:
  TokenFile(std::string path, std::unique_ptr<RandomAccess> file, tokens::TokenLayout layout,
            std::uint64_t vocabulary)
      : path_(std::move(path)), file_(std::move(file)), layout_(layout), vocabulary_(vocabulary) {}

  struct Piece {
    std::string checksum;
    std::uint64_t any_odd = 0;  // See tokens::looks_wider().
  };
  Result<Piece> check_piece(std::uint64_t first, std::uint64_t count) const;
  Status read(std::uint64_t first, std::span<std::int32_t> ids, std::span<char> bytes) const;
  Error misfit(std::uint64_t place, std::int64_t value) const;
  Error wider() const;

  std::string path_;
  std::unique_ptr<RandomAccess> file_;
  tokens::TokenLayout layout_;
  std::uint64_t vocabulary_;
};

}  // namespace headroom::trainer::data
