// SPDX-License-Identifier: Apache-2.0
// A log in pieces of any size → observations, the same ones however it was cut. A stream of any
// length takes bounded memory: lines that match nothing are gone at once, a line without an end is
// searched in parts, and what repeats is counted. Its beginning is held back until it tells whether
// somebody pasted it (restore_paste.h); if so, what follows is put together again likewise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "logs/decode.h"
#include "logs/matcher.h"
#include "logs/observation.h"

namespace headroom::logs {

class LogReader {
 public:
  // Both must outlive the reader; `log` and `name` are what its
  // observations say of it. One thread.
  LogReader(const Matcher& matcher, Observations& observations, std::uint64_t log,
            std::string name = "log");

  void feed(std::string_view bytes);
  // Brings the observations up to what was fed; the last line may lack its end still. Who asks for
  // them while the log is being written gets it as it is written: it is no paste.
  void flush();
  // flush() and the last line, which may lack its end. Requires: nothing is fed afterwards.
  void finish();

  std::uint64_t lines() const;
  std::uint64_t bytes() const { return bytes_; }

 private:
  // A line longer than this is searched in parts, all with its number, each beginning with the end
  // of the one before it.
  static constexpr std::size_t longest_line = std::size_t{32} << 10U;
  static constexpr std::size_t overlap = 512;

  // Of a signature: whether enough is kept, and the last line since then.
  struct Kind {
    bool is_enough = false;
    std::string line, head;
    std::uint64_t number = 0;
    std::uint64_t times = 0;
  };

  // So much is looked at together to see whether it was pasted.
  static constexpr std::size_t block_size = std::size_t{64} << 10U;
  // Nobody pastes more than this, and to put it together takes ten times as long as to read it.
  static constexpr std::uint64_t most_pasted_lines = 50'000;

  bool is_in_line() const { return !partial_.empty() || is_continued_; }
  void take(std::string_view text);
  // False if it was not pasted: then none of it is read.
  bool read_block(std::string_view text);
  void read_held();
  void append(std::string_view text);
  // Returns what is behind the line's end.
  std::string_view append_to_line(std::string_view text);
  void search(std::string_view lines);
  void look_at_line(std::string_view line);
  // Returns how much of the line is done with.
  std::size_t look_at_part(std::string_view part);
  void look_at_end(std::string_view part);
  void look_at_rows(std::string_view text);
  void look_at(std::string_view row);
  void keep_figures(std::string_view row);
  void keep(int place, std::string_view row, std::string_view head, std::uint64_t number);

  const Matcher& matcher_;
  Observations& observations_;
  std::uint64_t log_;
  std::string name_;
  std::uint64_t figure_rows_ = 0;  // Rows with figures of memory.
  Decoder decoder_;
  std::string held_;  // Text that may have been pasted.
  bool may_be_pasted_ = true;
  std::string partial_;  // The beginning of a line whose end has not come yet.
  std::uint64_t ended_ = 0;
  std::uint64_t bytes_ = 0;

  // Of the line that is looked at.
  bool is_continued_ = false;  // Parts of it were looked at.
  bool is_typed_ = false;      // It is somebody's command.
  std::string head_;           // Its beginning, which tells who wrote it and when.
  std::vector<int> seen_;      // Signatures that matched the row before its end was there.
  std::vector<int> found_;
  Matcher::Scratch scratch_;
  std::vector<std::size_t> candidates_;
  struct Waiting {
    std::size_t place = 0;    // In the observations.
    int left = 0;             // So many lines behind it still belong to it.
    bool has_prefix = false;  // As have those lines then, which is no part of what was printed.
  };
  std::vector<Waiting> waiting_;  // Begun by earlier lines.
  std::vector<Waiting> begun_;    // Begun by this line.
  std::vector<Kind> kinds_;       // By a signature's place in the table.
};

}  // namespace headroom::logs
