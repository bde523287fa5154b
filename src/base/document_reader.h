// SPDX-License-Identifier: Apache-2.0
// Typed values out of a TOML or JSON document, table by table. The first thing that was wrong is
// kept, with its line and place, and everything read after it is only a placeholder of the right
// type: a caller reads all it knows, one line a key, and asks once at the end.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/document_fwd.h"
#include "base/result.h"

namespace headroom {

// The values that a whole number may have, both ends included.
struct Range {
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
};

// A number without a fraction, however it is spelled: 1000, 1000.0 and 1e3 are one. Nothing for
// what is negative, and for what may have been rounded (above 2^53 with a point or an exponent).
std::optional<std::uint64_t> whole_number(const Json& value);

// How errors spell what they speak of.
enum class Spelling : std::uint8_t {
  toml,  // batch.micro, target[3].gfx; a table
  json,  // /batch/micro, /target/3/gfx; an object
};

struct DocumentWords {
  Spelling spelling = Spelling::toml;
  std::string root = "the document";  // What an error at the top calls it.
  std::string file = {};  // In front of every error; empty: whoever read the text says it.
  std::string next = {};  // What to do about a wrong value; empty: an example of a right one.
};

class TableReader;

// A document that is being read, and what was wrong in it.
class DocumentReader {
 public:
  // Requires: `document` outlives the reader, and the reader every table that it gave.
  explicit DocumentReader(const Document& document, DocumentWords words = {});
  explicit DocumentReader(Document&& document, DocumentWords words = {}) = delete;
  // The same without lines.
  explicit DocumentReader(const Json& value, DocumentWords words = {});
  explicit DocumentReader(Json&& value, DocumentWords words = {}) = delete;
  DocumentReader(const DocumentReader&) = delete;
  DocumentReader& operator=(const DocumentReader&) = delete;
  ~DocumentReader() = default;

  TableReader root();

  // Keeps the first one.
  void fail(Error error);
  bool failed() const { return problem_.has_value(); }
  // The first error.
  Status finish() const;

 private:
  friend class TableReader;

  const Json& value_;
  const Document* lines_ = nullptr;
  DocumentWords words_;
  std::optional<Error> problem_;
};

// One table (object) of a document. Functions that take `out` read a key that may be absent, and
// leave `out` alone where it is absent or wrong; functions that return a value read a key that must
// be there.
class TableReader {
 public:
  template <class Enum>
  using Words = std::vector<std::pair<std::string, Enum>>;

  void read(std::string_view key, std::string& out);
  void read(std::string_view key, std::optional<std::string>& out);
  void read(std::string_view key, bool& out);
  void read(std::string_view key, std::optional<bool>& out);
  void read(std::string_view key, double& out, double min, double max);
  void read(std::string_view key, std::uint64_t& out, Range range);
  void read_or_auto(std::string_view key, std::optional<std::uint64_t>& out, Range range);
  void read(std::string_view key, std::optional<Bytes>& out);      // "16GiB", "auto", or a number.
  void read(std::string_view key, std::vector<std::string>& out);  // One text, or an array of them.
  void read(std::string_view key, std::vector<double>& out);
  void read(std::string_view key, std::map<std::string, std::string>& out);  // Names with texts.

  std::string text(std::string_view key);
  bool flag(std::string_view key);
  std::uint64_t number(std::string_view key, Range range = {});
  std::optional<std::uint64_t> nullable_number(std::string_view key, Range range = {});

  // Any bytes: text, or {"base64": "…"} where they are no UTF-8.
  std::string byte_string(std::string_view key);
  std::optional<std::string> nullable_byte_string(std::string_view key);
  std::vector<std::string> byte_strings(std::string_view key);

  // One of `names`; the value of the enum is the position in `names`.
  template <class Enum>
  void read_choice(std::string_view key, Enum& out, const std::vector<std::string>& names) {
    if (const auto position = read_position(key, names)) out = static_cast<Enum>(*position);
  }
  template <class Enum>
  void read_choice(std::string_view key, std::optional<Enum>& out,
                   const std::vector<std::string>& names) {
    if (const auto position = read_position(key, names)) out = static_cast<Enum>(*position);
  }
  // One of `words`, each with its meaning.
  template <class Enum>
  void read_word(std::string_view key, Enum& out, const Words<Enum>& words) {
    if (const auto position = read_position(key, names_of(words))) out = words[*position].second;
  }
  template <class Enum>
  void read_word(std::string_view key, std::optional<Enum>& out, const Words<Enum>& words) {
    if (const auto position = read_position(key, names_of(words))) out = words[*position].second;
  }
  template <class Enum>
  Enum word(std::string_view key, const Words<Enum>& words) {
    const auto position = position_of(key, names_of(words));
    return position ? words[*position].second : Enum{};
  }
  // One of the names that `to_string` has for the values from the first to `last`.
  template <class Enum>
  Enum choice(std::string_view key, Enum last) {
    std::vector<std::string> names;
    for (int i = 0; i <= static_cast<int>(last); ++i) {
      names.emplace_back(to_string(static_cast<Enum>(i)));
    }
    return static_cast<Enum>(position_of(key, names).value_or(0));
  }

  // A key that the contract has and this version understands only at its default.
  void read_only(std::string_view key, const Json& supported);

  // Tables inside of this one. An absent one reads as empty.
  TableReader table(std::string_view key);
  TableReader optional_table(std::string_view key);
  // Those of an array, which must be there.
  std::vector<TableReader> tables(std::string_view key);
  // Those of an array, or of a table by their names; none if it is absent.
  std::vector<TableReader> rows(std::string_view key);
  // What this table is called in the one around it: its key, or its number in an array.
  const std::string& name() const { return name_; }

  // Values of any type: null if absent, else as it stands.
  const Json* find(std::string_view key);
  const Json& any_table(std::string_view key);  // {} if absent.
  const Json& any_array(std::string_view key);  // [] if absent.
  bool has(std::string_view key) const;         // And is not null.

  // An error for the first key of this table that was never asked for.
  void refuse_unknown();

  // Keep an error at a key; at the table itself if `key` is empty. The first one says that
  // `expected` was, and what was found.
  void wrong(std::string_view key, std::string_view expected);
  void fail(std::string_view key, Errc code, const std::string& message, const std::string& next);

 private:
  friend class DocumentReader;

  struct Place {
    std::string pointer;  // For the line.
    std::string path;     // For people.
  };
  enum class Need : std::uint8_t { optional, required };
  // What a right value would have been: in words, and in TOML.
  struct Wanted {
    std::string what;
    std::string example;
    Need need = Need::optional;
  };

  TableReader(DocumentReader& reader, const Json* table, Place place, std::string name);

  template <class Enum>
  static std::vector<std::string> names_of(const Words<Enum>& words) {
    std::vector<std::string> names;
    for (const auto& [name, meaning] : words) names.push_back(name);
    return names;
  }
  std::optional<std::size_t> read_position(std::string_view key,
                                           const std::vector<std::string>& names);
  std::optional<std::size_t> position_of(std::string_view key,
                                         const std::vector<std::string>& names,
                                         Need need = Need::required);
  std::optional<std::string> to_bytes(const Json* value, const Place& place);

  Place place_of(std::string_view key) const;
  Place place_of(const Place& list, std::size_t index) const;
  std::string found_at(const Json* value) const;
  void refuse(std::string_view key, const Wanted& wanted);
  // `found` is what stands there; null if nothing does.
  void fail_at(const Place& place, const Json* found, Error error);
  // A reader of `value`, which must be a table; of an empty one if it is not.
  TableReader inner(const Json* value, Place place, std::string name);

  DocumentReader* reader_;
  const Json* table_;  // Null: absent, or no table.
  Place place_;
  std::string name_;
  std::vector<std::string> known_;
};

}  // namespace headroom
