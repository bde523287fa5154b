// SPDX-License-Identifier: Apache-2.0
#include "logs/log_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "logs/cut_line.h"
#include "logs/line_prefix.h"
#include "logs/restore_paste.h"
#include "logs/sentence.h"

namespace headroom::logs {
namespace {

constexpr std::size_t longest_output = 300;
constexpr std::size_t longest_value = 1000;
constexpr std::size_t longest_head = 200;
// Longer lines are looked at at once: to keep one for each signature would take too much memory.
constexpr std::size_t longest_put_off = 4096;

// So many rows with figures of memory are all read; then one in seven, and then one in 61.
constexpr std::uint64_t read_all_rows = 4096;
constexpr std::uint64_t read_many_rows = 65536;

std::string_view without_end_blanks(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r");
  return last == std::string_view::npos ? std::string_view{} : text.substr(0, last + 1);
}

// What a line shows in the end: the last thing that a progress bar wrote over itself.
std::string_view last_row(std::string_view line) {
  line = without_end_blanks(line);
  const std::size_t begin = line.rfind('\r');
  return begin == std::string_view::npos ? line : line.substr(begin + 1);
}

std::uint64_t count_line_ends(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// What is there by the hundred already, and of which neither the last nor the number matters.
bool tells_no_more(const knowledge::Signature& signature) {
  return signature.output == 0 &&
         (signature.role == knowledge::Role::fact || signature.role == knowledge::Role::noise);
}

bool has(std::string_view text, char byte) {
  return !text.empty() && std::memchr(text.data(), byte, text.size()) != nullptr;
}

// People tell of trouble before or between the few lines that they paste. Sentences are looked for
// in so many lines of each log, so that a long log is read at the same speed.
constexpr std::uint64_t most_told_lines = 2000;

// Keeps the line if a person wrote it. There are few such lines: of a log that is made of prose the
// rest is only counted.
void keep_sentence(std::string_view row, Observation place, Observations& observations) {
  const std::string_view body = parse_prefix(row).body;
  if (row.size() > longest_put_off || !is_sentence(body)) return;
  if (observations.has_enough_of(sentence_signature())) return;
  place.signature = &sentence_signature();
  place.text = to_shown(body, longest_put_off);
  observations.add(std::move(place));
}

}  // namespace

LogReader::LogReader(const Matcher& matcher, Observations& observations, std::uint64_t log,
                     std::string name)
    : matcher_(matcher),
      observations_(observations),
      log_(log),
      name_(std::move(name)),
      kinds_(matcher.table().rows.size()) {}

void LogReader::feed(std::string_view bytes) {
  bytes_ += bytes.size();
  take(decoder_.decode(bytes));
}

std::uint64_t LogReader::lines() const {
  const bool ends_in_line = held_.empty() ? is_in_line() : held_.back() != '\n';
  return ended_ + count_line_ends(held_) + (ends_in_line ? 1 : 0);
}

void LogReader::take(std::string_view text) {
  if (!may_be_pasted_) return append(text);
  held_ += text;
  while (may_be_pasted_ && held_.size() >= block_size) {
    const std::size_t end = std::string_view(held_).substr(0, block_size).rfind('\n');
    // Nobody folded a line of this length.
    if (end == std::string::npos) return read_held();
    if (!read_block(std::string_view(held_).substr(0, end + 1))) return read_held();
    held_.erase(0, end + 1);
  }
}

bool LogReader::read_block(std::string_view text) {
  if (ended_ > most_pasted_lines) return false;
  const auto lines = restore_paste(text, matcher_);
  if (!lines) return false;
  const std::uint64_t before = ended_;
  for (const PastedLine& line : *lines) {
    ended_ = before + line.number - 1;
    look_at_line(line.text);
  }
  ended_ = before + count_line_ends(text) + (text.ends_with('\n') ? 0 : 1);
  return true;
}

// As it is written, and so is all that follows.
void LogReader::read_held() {
  may_be_pasted_ = false;
  append(std::exchange(held_, {}));
}

void LogReader::append(std::string_view text) {
  if (is_in_line()) text = append_to_line(text);
  const std::size_t last = text.rfind('\n');
  const std::size_t whole = last == std::string_view::npos ? 0 : last + 1;
  search(text.substr(0, whole));
  append_to_line(text.substr(whole));
}

std::string_view LogReader::append_to_line(std::string_view text) {
  while (!text.empty()) {
    const std::string_view taken = text.substr(0, longest_line + 1 - partial_.size());
    const std::size_t end = taken.find('\n');
    partial_ += taken.substr(0, end);
    if (end != std::string_view::npos) {
      look_at_end(partial_);
      partial_.clear();
      ++ended_;
      return text.substr(end + 1);
    }
    text.remove_prefix(taken.size());
    if (partial_.size() > longest_line) {
      partial_.erase(0, look_at_part(std::string_view(partial_).substr(0, longest_line)));
    }
  }
  return text;
}

void LogReader::search(std::string_view lines) {
  std::size_t at = 0;
  matcher_.find_candidates(lines, candidates_);
  auto candidate = candidates_.begin();
  while (at < lines.size()) {
    std::size_t begin = at;
    if (waiting_.empty() && ended_ >= most_told_lines) {
      candidate = std::find_if(candidate, candidates_.end(),
                               [at](std::size_t word_end) { return word_end > at; });
      if (candidate == candidates_.end()) break;
      const std::size_t word = *candidate;
      const std::size_t end_before = lines.substr(at, word - at).rfind('\n');
      if (end_before != std::string_view::npos) begin = at + end_before + 1;
      ended_ += count_line_ends(lines.substr(at, begin - at));
    }
    const std::size_t end = lines.find('\n', begin);
    look_at_line(lines.substr(begin, end - begin));
    ++ended_;
    at = end + 1;
  }
  ended_ += count_line_ends(lines.substr(at));
}

void LogReader::look_at_line(std::string_view line) {
  while (line.size() > longest_line) {
    line.remove_prefix(look_at_part(line.substr(0, longest_line)));
  }
  look_at_end(line);
}

std::size_t LogReader::look_at_part(std::string_view part) {
  const std::size_t row_end = part.rfind('\r');
  const bool ends_row = row_end != std::string_view::npos;
  look_at_rows(part.substr(0, row_end));
  if (ends_row) seen_.clear();
  if (!is_continued_ && head_.empty())
    head_ = part.substr(0, std::min(part.find('\r'), longest_head));
  is_continued_ = true;
  return ends_row ? row_end + 1 : part.size() - overlap;
}

void LogReader::look_at_end(std::string_view part) {
  look_at_rows(part);
  if (ended_ < most_told_lines && !is_typed_ && !is_continued_) {
    Observation place;
    place.log = log_;
    place.log_name = name_;
    place.line = ended_ + 1;
    keep_sentence(last_row(part), std::move(place), observations_);
  }
  if (is_typed_) {
    waiting_.clear();  // What is typed ends the output of what was typed before.
  } else if (!waiting_.empty()) {
    const std::string_view row = last_row(part);
    const std::string shown = to_shown(row, longest_output);
    for (Waiting& one : waiting_) {
      observations_.add_output(
          one.place, one.has_prefix ? to_shown(parse_prefix(row).body, longest_output) : shown);
      --one.left;
    }
    std::erase_if(waiting_, [](const Waiting& one) { return one.left <= 0; });
  }
  waiting_.insert(waiting_.end(), begun_.begin(), begun_.end());
  begun_.clear();
  seen_.clear();
  head_.clear();
  is_continued_ = is_typed_ = false;
}

// Rows are what stands between carriage returns.
void LogReader::look_at_rows(std::string_view text) {
  text = text.substr(0, text.find_last_not_of('\r') + 1);
  if (!has(text, '\r') && head_.empty() && !is_continued_) {
    // By far the most lines.
    look_at(text);
    return;
  }
  if (matcher_.find_candidate(text, 0) != std::string_view::npos) {
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = std::min(text.find('\r', at), text.size());
      look_at(text.substr(at, end - at));
      if (end < text.size()) seen_.clear();
      if (head_.empty()) head_ = text.substr(0, std::min(end, longest_head));
      at = end + 1;
    }
  }
  if (head_.empty()) head_ = text.substr(0, std::min(text.find('\r'), longest_head));
}

void LogReader::look_at(std::string_view row) {
  row = without_end_blanks(row);
  std::string edited;
  if (has(row, '\b')) row = edited = without_backspaces(row);
  matcher_.match(row, found_, scratch_);
  for (const int place : found_) {
    if (std::find(seen_.begin(), seen_.end(), place) != seen_.end()) continue;
    seen_.push_back(place);
    const knowledge::Signature& signature = matcher_.table().rows[static_cast<std::size_t>(place)];
    if (signature.id.starts_with(memory_figures_id)) {
      keep_figures(row);
      continue;
    }
    if (signature.role == knowledge::Role::command) is_typed_ = true;
    Kind& kind = kinds_[static_cast<std::size_t>(place)];
    if (!kind.is_enough) kind.is_enough = observations_.has_enough_of(signature);
    if (kind.is_enough && tells_no_more(signature)) {
      scratch_.is_done.at(static_cast<std::size_t>(place)) = true;
    } else if (kind.is_enough && signature.output == 0 && row.size() <= longest_put_off) {
      kind.line = row;
      kind.head = head_;
      kind.number = ended_ + 1;
      ++kind.times;
    } else {
      keep(place, row, head_, ended_ + 1);
    }
  }
}

void LogReader::keep_figures(std::string_view row) {
  // A series keeps few points, and to read a line's figures costs much more than to find it. The
  // shares are primes, so that ranks that write in turns are all read.
  ++figure_rows_;
  const std::uint64_t share = figure_rows_ <= read_all_rows    ? 1
                              : figure_rows_ <= read_many_rows ? 7
                                                               : 61;
  if (figure_rows_ % share != 0) return;
  const Line line = parse_prefix(row.substr(0, longest_text));
  const Line first = line.origin.empty() && !head_.empty() ? parse_prefix(head_) : line;
  // What the kernel says of memory is about pieces of it, not about a job's work. It counts seconds
  // since the start; others write a date or a clock.
  const bool is_uptime = !line.time.empty() && line.time.find_first_of(":-") == std::string::npos;
  if (first.origin == "kernel" || is_uptime) return;
  observations_.memory().add({log_, name_, first.origin, ended_ + 1}, row);
}

void LogReader::keep(int place, std::string_view row, std::string_view head, std::uint64_t number) {
  const knowledge::Signature& signature = matcher_.table().rows[static_cast<std::size_t>(place)];
  const Matcher::Match match = matcher_.extract(place, row);
  const Line line = parse_prefix(row.substr(0, longest_text));
  const Line first = parse_prefix(head);
  Observation observation;
  observation.signature = &signature;
  observation.log = log_;
  observation.log_name = name_;
  observation.line = number;
  observation.time = to_shown(line.time.empty() ? first.time : line.time, longest_head);
  observation.origin = to_shown(line.origin.empty() ? first.origin : line.origin, longest_head);
  observation.level = line.level;
  for (const auto& [name, value] : match.values) {
    observation.values.emplace_back(name, to_shown(value, longest_value));
  }
  const auto prefix = static_cast<std::size_t>(line.body.data() - row.data());
  observation.text =
      cut_around(row.substr(prefix), match.begin > prefix ? match.begin - prefix : 0);
  const std::size_t at = observations_.add(std::move(observation));
  if (signature.output == 0) return;
  // It may stand in the place of an earlier one.
  const auto is_replaced = [at](const Waiting& one) { return one.place == at; };
  std::erase_if(waiting_, is_replaced);
  std::erase_if(begun_, is_replaced);
  begun_.push_back({at, signature.output, prefix > 0});
}

void LogReader::flush() {
  if (may_be_pasted_ && !held_.empty()) read_held();
  for (std::size_t place = 0; place < kinds_.size(); ++place) {
    Kind& kind = kinds_[place];
    if (kind.times == 0) continue;
    observations_.count(matcher_.table().rows[place], kind.times - 1);
    keep(static_cast<int>(place), kind.line, kind.head, kind.number);
    kind.times = 0;
  }
}

void LogReader::finish() {
  take(decoder_.finish());
  if (may_be_pasted_ && !held_.empty()) {
    if (read_block(held_)) {
      held_.clear();
    } else {
      read_held();
    }
  }
  if (is_in_line()) {
    look_at_end(partial_);
    partial_.clear();
    ++ended_;
  }
  flush();
}

}  // namespace headroom::logs
