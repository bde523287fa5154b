// SPDX-License-Identifier: Apache-2.0
// Reads typed values out of a Document, table by table, and remembers the first thing that was
// wrong. A caller reads everything it knows and asks once at the end; keys nobody asked for are
// then errors too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/document_fwd.h"
#include "base/result.h"

namespace headroom::estimate {

// The values that a whole number may have, both ends included.
struct Range {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
};

// A number without a fraction, however it is spelled: 1000, 1000.0 and 1e3 are one. Nothing for
// what is negative, and for what may have been rounded (above 2^53 with a point or an exponent).
std::optional<std::uint64_t> whole_number(const Json& value);

class TableReader {
 public:
  // Reads the table at `pointer` ("" or "/batch") of `document`; an absent table reads as empty.
  // Requires: `document` and `problem` outlive the reader; all readers of a document share one
  // `problem`.
  TableReader(const Document& document, std::string pointer, std::optional<Error>& problem);

  // Each reads one key into `out` if it is there, and leaves `out` alone if it is not.
  void read(const char* key, std::string& out);
  void read(const char* key, std::optional<std::string>& out);
  void read(const char* key, bool& out);
  void read(const char* key, double& out, double min, double max);
  void read(const char* key, std::uint64_t& out, Range range);
  void read_or_auto(const char* key, std::optional<std::uint64_t>& out, Range range);
  void read(const char* key, std::optional<Bytes>& out);      // "16GiB", or a number of bytes.
  void read(const char* key, std::vector<std::string>& out);  // One text, or an array of texts.
  const Json* find(const char* key);                          // Any value; null if absent.

  // One of `names`; the value of the enum is the position in `names`.
  template <class Enum>
  void read_choice(const char* key, Enum& out, const std::vector<std::string>& names) {
    if (const auto position = read_position(key, names)) out = static_cast<Enum>(*position);
  }

  // A key that the contract has and this version understands only at its default.
  void read_only(const char* key, const Json& supported);

  // Reports keys of this table that were never asked for.
  void refuse_unknown();

  void fail(const std::string& key, Errc code, const std::string& message, const std::string& next);

 private:
  // The value if it is right. Else the problem is that `wanted` was expected, and `example` (TOML)
  // is what to write.
  const Json* expect(const char* key, bool right, const std::string& wanted,
                     const std::string& example);
  std::optional<std::size_t> read_position(const char* key, const std::vector<std::string>& names);

  const Document& document_;
  std::string pointer_;
  std::optional<Error>& problem_;
  const Json* table_ = nullptr;
  std::vector<std::string> known_;
};

}  // namespace headroom::estimate
