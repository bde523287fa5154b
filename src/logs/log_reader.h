// SPDX-License-Identifier: Apache-2.0
// A log in pieces of any size → observations. A stream of any length takes bounded memory: lines
// that match nothing are gone at once, a line without an end is searched in parts, and what repeats
// is counted.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "logs/decode.h"
#include "logs/matcher.h"
#include "logs/observation.h"

namespace headroom::logs {

class LogReader {
 public:
  // Both must outlive the reader; `log` is the number that its observations get. One thread.
  LogReader(const Matcher& matcher, Observations& observations, std::uint64_t log);

  void feed(std::string_view bytes);
  // Brings the observations up to what was fed; the last line may lack its end still.
  void flush();
  // flush() and the last line, which may lack its end. Requires: nothing is fed afterwards.
  void finish();

  std::uint64_t lines() const { return ended_ + (partial_.empty() ? 0 : 1); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  // A line longer than this is searched in parts of this size, all with its number.
  static constexpr std::size_t longest_line = std::size_t{256} << 10U;

  struct Latest {  // Of a kind of which enough is kept.
    std::string line;
    std::uint64_t number = 0;
    std::uint64_t times = 0;
  };

  void decode(std::string_view bytes);
  void append(std::string_view text);
  // Whole lines, or a part of one that is too long.
  void search(std::string_view text);
  void search_clean(std::string_view text);
  void look_at(std::string_view line, std::uint64_t number);
  void keep(const knowledge::Signature& signature, std::string_view line, std::uint64_t number);
  void give_to_waiting(std::string_view line);

  const Matcher& matcher_;
  Observations& observations_;
  std::uint64_t log_;
  Encoding encoding_ = Encoding::unknown;
  std::string head_;     // The first bytes, until the encoding is known.
  std::string odd_;      // Half a character of UTF-16.
  std::string partial_;  // The beginning of a line whose end has not come yet.
  std::uint64_t ended_ = 0;
  std::uint64_t bytes_ = 0;
  // Places of observations that wait for the lines behind them, and how many each still gets.
  std::vector<std::pair<std::size_t, int>> waiting_;
  std::map<const knowledge::Signature*, Latest> latest_;
};

}  // namespace headroom::logs
