// SPDX-License-Identifier: Apache-2.0
// What was found in logs: typed events with their values and where they stand. One that is repeated
// for ever is kept at its beginning and its end and counted in between, so that a log of any length
// takes the same memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "knowledge/signatures.h"
#include "logs/memory_series.h"

namespace headroom::logs {

struct Observation {
  const knowledge::Signature* signature = nullptr;  // Of the table, which outlives this.
  std::uint64_t log = 0;                            // Which of the logs, from 0.
  std::string log_name;                             // "worker.log", "standard input".
  std::uint64_t line = 0;                           // From 1.
  std::string time;    // As the log writes it: "2024-09-09T18:25:47.552Z", "2743.942606"; or empty.
  std::string origin;  // Who wrote the line, by its prefix: a container, a unit, a rank; or empty.
  std::string level;   // "INFO", where the prefix says it; or empty.
  std::string text;    // Behind the prefix and without colours; long lines cut around the match.
  // By the names in `match`; a group that took no part has no entry.
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> output;  // The lines behind it, of a signature that asks for them.

  const std::string& id() const { return signature->id; }
  // "" if there is none. An expression with several wordings may have the value as "gfx_1" too.
  std::string_view value(std::string_view name) const;
  // A value as an amount: "6.64 GiB", "24034.60 MiB", "16221474816". Nothing if it is none.
  std::optional<Bytes> bytes(std::string_view name) const;
  // Its own level says that it is told in passing. Where a program logs all it has to say at one
  // level, as ollama does, this says nothing and is false.
  bool is_remark() const;
  // Of the lines behind it.
  bool output_has(std::string_view part) const;
};

// Requires: filled in the order of the logs. Not for several threads at once.
class Observations {
 public:
  // How many of one kind are kept: the first ones, and always the last.
  static constexpr std::size_t kept_of_a_kind = 64;
  static constexpr std::size_t kept_facts = 512;  // Of one kind of fact or command.
  // A log that has so much of everything that this is reached has few of each kind kept from then
  // on.
  static constexpr std::size_t most_bytes = std::size_t{16} << 20U;
  static constexpr std::size_t kept_when_full = 4;

  // Returns its place in all(), which stays the same.
  std::size_t add(Observation observation);
  // One more line behind the observation at `place`.
  void add_output(std::size_t place, std::string_view line) {
    all_[place].output.emplace_back(line);
  }
  // Others of a kind of which enough is kept were seen, and not looked at.
  void count(const knowledge::Signature& signature, std::uint64_t times) {
    kinds_[signature.id].count += times;
  }
  bool has_enough_of(const knowledge::Signature& signature) const;

  const std::vector<Observation>& all() const { return all_; }
  bool seen(std::string_view id) const { return count_of(id) > 0; }
  std::uint64_t count_of(std::string_view id) const;
  // nullptr if there is none. Pointers hold until the next add().
  const Observation* first(std::string_view id) const;
  const Observation* last(std::string_view id) const;
  // The first in the logs of any of these.
  const Observation* first_of(std::initializer_list<std::string_view> ids) const;
  std::vector<const Observation*> of(std::string_view id) const;
  bool any_of(std::initializer_list<std::string_view> ids) const {
    return first_of(ids) != nullptr;
  }
  const Observation* first_with(knowledge::Role role) const;

  // Figures of memory over the work done.
  MemoryLog& memory() { return memory_; }
  const MemoryLog& memory() const { return memory_; }

 private:
  struct Kind {
    std::uint64_t count = 0;
    std::vector<std::size_t> places;  // In all_.
  };
  const Kind* kind(std::string_view id) const;
  std::size_t kept_of(const knowledge::Signature& signature) const;

  std::size_t bytes_ = 0;  // Of texts and values; only what was added.
  std::vector<Observation> all_;
  std::map<std::string, Kind, std::less<>> kinds_;
  MemoryLog memory_;
};

}  // namespace headroom::logs
