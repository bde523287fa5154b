// SPDX-License-Identifier: Apache-2.0
#include "logs/log_reader.h"

#include <algorithm>

#include "logs/line_prefix.h"

namespace headroom::logs {
namespace {

constexpr std::size_t longest_text = 600;  // Of an observation.
constexpr std::size_t longest_output = 300;

// Long lines are cut around what matched.
std::string cut(std::string_view text, std::size_t match) {
  if (text.size() <= longest_text) return std::string(text);
  constexpr std::size_t before = 120;
  const std::size_t begin = match > before ? match - before : 0;
  std::string part(text.substr(begin, longest_text));
  if (begin > 0) part.insert(0, "…");
  if (begin + longest_text < text.size()) part += "…";
  return part;
}

std::string_view without_end_blanks(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? std::string_view{} : text.substr(0, last + 1);
}

}  // namespace

LogReader::LogReader(const Matcher& matcher, Observations& observations, std::uint64_t log)
    : matcher_(matcher), observations_(observations), log_(log) {}

void LogReader::feed(std::string_view bytes) {
  bytes_ += bytes.size();
  if (encoding_ != Encoding::unknown) {
    decode(bytes);
    return;
  }
  head_ += bytes;
  encoding_ = detect_encoding(head_);
  if (encoding_ == Encoding::unknown) return;
  const std::string head = std::move(head_);
  decode(head);
}

void LogReader::decode(std::string_view bytes) {
  if (encoding_ == Encoding::utf8) {
    append(bytes);
    return;
  }
  odd_ += bytes;
  // A pair of surrogates stays together.
  std::size_t whole = odd_.size() / 2 * 2;
  if (whole >= 2) {
    const char high = odd_[encoding_ == Encoding::utf16_le ? whole - 1 : whole - 2];
    if ((static_cast<unsigned char>(high) & 0xFCU) == 0xD8) whole -= 2;
  }
  append(utf16_to_utf8(std::string_view(odd_).substr(0, whole), encoding_));
  odd_.erase(0, whole);
}

void LogReader::append(std::string_view text) {
  if (!partial_.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t taken = end == std::string_view::npos ? text.size() : end + 1;
    partial_ += text.substr(0, taken);
    text.remove_prefix(taken);
    if (end == std::string_view::npos && partial_.size() < longest_line) return;
    const std::string lines = std::move(partial_);
    partial_.clear();
    search(lines);
  }
  const std::size_t last = text.rfind('\n');
  const std::size_t whole = last == std::string_view::npos ? 0 : last + 1;
  search(text.substr(0, whole));
  text.remove_prefix(whole);
  while (text.size() > longest_line) {
    search(text.substr(0, longest_line));
    text.remove_prefix(longest_line);
  }
  partial_ = text;
}

void LogReader::search(std::string_view text) {
  if (needs_cleaning(text)) {
    search_clean(clean(text));
  } else {
    search_clean(text);
  }
}

void LogReader::search_clean(std::string_view text) {
  const auto count_ends = [&](std::size_t begin, std::size_t end) {
    return static_cast<std::uint64_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                                 text.begin() + static_cast<std::ptrdiff_t>(end),
                                                 '\n'));
  };
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t begin = at;
    if (waiting_.empty()) {
      const std::size_t word = matcher_.find_candidate(text, at);
      if (word == std::string_view::npos) break;
      const std::size_t end_before =
          word == 0 ? std::string_view::npos : text.rfind('\n', word - 1);
      if (end_before != std::string_view::npos && end_before >= at) begin = end_before + 1;
      ended_ += count_ends(at, begin);
    }
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = without_end_blanks(text.substr(begin, end - begin));
    give_to_waiting(line);
    look_at(line, ended_ + 1);
    at = end + 1;
    if (end < text.size()) ++ended_;
  }
  if (at < text.size()) ended_ += count_ends(at, text.size());
}

void LogReader::give_to_waiting(std::string_view line) {
  for (auto& [place, left] : waiting_) {
    observations_.add_output(place, line.substr(0, longest_output));
    --left;
  }
  std::erase_if(waiting_, [](const auto& one) { return one.second <= 0; });
}

void LogReader::look_at(std::string_view line, std::uint64_t number) {
  for (const knowledge::Signature* signature : matcher_.match(line)) {
    // What is typed ends the output of what was typed before.
    if (signature->role == knowledge::Role::command) waiting_.clear();
    if (observations_.has_enough_of(*signature)) {
      Latest& latest = latest_[signature];
      latest.line.assign(line.substr(0, longest_line));
      latest.number = number;
      ++latest.times;
    } else {
      keep(*signature, line, number);
    }
  }
}

void LogReader::keep(const knowledge::Signature& signature, std::string_view line,
                     std::uint64_t number) {
  Matcher::Match match = matcher_.extract(signature, line);
  const Line parts = parse_prefix(line.substr(0, longest_text));
  Observation observation;
  observation.signature = &signature;
  observation.log = log_;
  observation.line = number;
  observation.time = parts.time;
  observation.origin = parts.origin;
  observation.values = std::move(match.values);
  const auto prefix = static_cast<std::size_t>(parts.body.data() - line.data());
  const std::string_view body = line.substr(prefix);
  observation.text = cut(body, match.begin > prefix ? match.begin - prefix : 0);
  const std::size_t place = observations_.add(std::move(observation));
  if (signature.output > 0) waiting_.emplace_back(place, signature.output);
}

void LogReader::flush() {
  for (auto& [signature, latest] : latest_) {
    if (latest.times == 0) continue;
    observations_.count(*signature, latest.times - 1);
    keep(*signature, latest.line, latest.number);
    latest.times = 0;
  }
}

void LogReader::finish() {
  if (!head_.empty()) {
    append(head_);
    head_.clear();
  }
  if (!partial_.empty()) {
    const std::string last = std::move(partial_);
    partial_.clear();
    search(last);
    ++ended_;
  }
  flush();
}

}  // namespace headroom::logs
