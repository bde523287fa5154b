// SPDX-License-Identifier: Apache-2.0
// JSON of our own → values, field by field. The first mistake is kept, with the place where it
// stands ("/change/steps/2/path"), and everything read after it is worthless; so that a reader is
// one line per field and one look at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document_fwd.h"

namespace headroom::plan {

using Ordered = nlohmann::ordered_json;

// A string, or {"base64": "…"} where the bytes are no UTF-8: file contents and names may hold any
// bytes, and none may be lost.
Ordered bytes_to_json(const std::string& bytes);
Ordered bytes_to_json(const std::optional<std::string>& bytes);  // nullopt: null.
Ordered bytes_to_json(const std::vector<std::string>& list);

// Shared by all Fields of one document.
struct Mistake {
  std::optional<Error> error;
  // Keeps the first one.
  void say(const std::string& place, std::string_view expected, const Json* found);
};

class Fields {
 public:
  Fields(const Json& value, std::string place, Mistake& mistake);

  std::string text(std::string_view key) const;
  std::optional<std::string> optional_text(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  bool boolean(std::string_view key) const;
  std::uint64_t number(std::string_view key, std::uint64_t largest = UINT64_MAX) const;
  // nullopt for null.
  std::optional<std::uint64_t> optional_number(std::string_view key,
                                               std::uint64_t largest = UINT64_MAX) const;
  // Of the names that `to_string` has for the enum's values from the first to `last`.
  template <class Enum>
  Enum choice(std::string_view key, Enum last) const {
    const std::string word = text(key);
    for (int i = 0; i <= static_cast<int>(last); ++i) {
      if (to_string(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
    }
    say(key, "a known name");
    return Enum{};
  }
  bool has(std::string_view key) const;  // And is not null.
  void each(std::string_view key, const std::function<void(const Fields&)>& read) const;
  Fields object(std::string_view key) const;
  void say(std::string_view key, std::string_view expected) const;

 private:
  const Json* find(std::string_view key) const;
  std::string place_of(std::string_view key) const;
  std::string read_bytes(const Json* value, const std::string& place) const;

  const Json& value_;
  std::string place_;
  Mistake& mistake_;
};

}  // namespace headroom::plan
