// SPDX-License-Identifier: Apache-2.0
// The names and values in one line of a command, a configuration or a log, whatever the manner in
// which they are written; which names mean something is for job_arguments.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::estimate {

class ArgumentScanner {
 public:
  explicit ArgumentScanner(std::string_view line) : line_(line) {}

  // Goes on to the next name; false at the end of the line.
  bool next();
  // Dashes before the name: 2 in "--batch_size", 0 in "batch_size=64".
  std::size_t dashes() const { return dashes_; }
  // The name and so many words behind it, as one name: "Batch size per device" with 3 is
  // "batch_size_per_device". Small letters, "_" for "-" and before capitals inside, without the
  // groups before the last ".". Empty if there are not so many words.
  std::string name(std::size_t more_words) const;
  // As it is written, with its dashes.
  std::string spelled(std::size_t more_words) const;

  // What stands behind the name's "=", ":" or blank. The first number, where there is one, and the
  // second of "512x768", "[512, 768]"; or the word.
  struct Value {
    std::optional<std::uint64_t> number;
    std::optional<std::uint64_t> second;
    bool by_x = false;      // "512x768": the width stands first.
    std::string_view word;  // "bf16", "torch.bfloat16", "True"
  };
  // Nothing if nothing is said to be the name's value.
  std::optional<Value> value(std::size_t more_words) const;

  // Goes on behind the name and so many more words.
  void skip(std::size_t more_words) { at_ = end_of(more_words); }

 private:
  std::size_t end_of(std::size_t more_words) const;
  std::size_t value_start(std::size_t position) const;
  std::size_t skip_any(std::size_t position, std::string_view characters) const;
  std::optional<std::uint64_t> number_at(std::size_t& position) const;

  std::string_view line_;
  std::size_t at_ = 0;     // Where to look for the next name.
  std::size_t begin_ = 0;  // The name's.
  std::size_t end_ = 0;
  std::size_t dashes_ = 0;
};

}  // namespace headroom::estimate
