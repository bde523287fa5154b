// SPDX-License-Identifier: Apache-2.0
// Tokens and their ids, in both directions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokens/merges.h"

namespace headroom::tokens {

class Vocabulary {
 public:
  // Ids are below this: several times the largest vocabulary that there is.
  static constexpr std::uint64_t most_ids = 1U << 24U;

  Vocabulary() = default;
  Vocabulary(Vocabulary&&) = default;  // A copy's tokens would be the other's.
  Vocabulary& operator=(Vocabulary&&) = default;
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;
  ~Vocabulary() = default;

  // Requires: 0 <= id < most_ids.
  void add(std::string token, Id id);
  std::optional<Id> find(std::string_view token) const {
    const auto found = ids_.find(token);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }
  // Null if no token has the id.
  const std::string* token(Id id) const;
  // The number of tokens, and one more than the highest id.
  std::size_t size() const { return ids_.size(); }
  std::size_t end() const { return tokens_.size(); }
  const std::vector<const std::string*>& tokens() const { return tokens_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, Id, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> tokens_;  // Those of ids_, which do not move.
};

}  // namespace headroom::tokens
