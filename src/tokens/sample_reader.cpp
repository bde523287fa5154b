// SPDX-License-Identifier: Apache-2.0
#include "tokens/sample_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "tokens/line_reader.h"

namespace headroom::tokens {
namespace {

constexpr std::string_view paragraph_end = "\n\n";

// Cut into samples of at most `longest` tokens. One token has nothing to predict.
void add_cut(const std::vector<Id>& tokens, std::size_t longest, TokenSamples& samples) {
  for (std::size_t begin = 0; begin + 1 < tokens.size(); begin += longest) {
    const std::size_t end = std::min(tokens.size(), begin + longest);
    if (end - begin >= 2)
      samples.emplace_back(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                           tokens.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

Error at_line(const Error& error, const std::string& name, std::uint64_t line) {
  return Error(error).in(fmt::format("{}, line {}", name, line));
}

}  // namespace

Status SampleReader::check_vocabulary(const std::vector<Id>& tokens) const {
  for (const Id token : tokens) {
    const Id id = id_of(token);
    if (static_cast<std::uint64_t>(id) < limits_.vocabulary) continue;
    return Error{Errc::invalid,
                 fmt::format("expected tokens with ids below {}, the model's vocab_size, found {}, "
                             "which is \"{}\"",
                             limits_.vocabulary, id, printable(encoder_.shown(id))),
                 "use the tokenizer that came with the model: tokenizer = \"FILE\" under [data]"};
  }
  return Done{};
}

Status SampleReader::add_record(std::string_view line, TokenSamples& samples) {
  HEADROOM_TRY(const Record record, parse_record(line));
  HEADROOM_TRY(std::vector<Id> tokens, make_example(record, template_, encoder_));
  HEADROOM_CHECK(check_vocabulary(tokens));
  if (record.kind == Record::Kind::text) {
    add_cut(tokens, limits_.longest, samples);
    return Done{};
  }
  if (record.kind == Record::Kind::conversation) ++counts_.conversations;
  if (tokens.size() > limits_.longest) {
    tokens.resize(limits_.longest);
    ++counts_.shortened;
  }
  if (count_targets(tokens) == 0) {
    ++counts_.without_targets;
  } else {
    samples.push_back(std::move(tokens));
  }
  return Done{};
}

Status SampleReader::add_records(const RandomAccess& bytes, const std::string& name,
                                 TokenSamples& samples) {
  LineReader lines(bytes);
  std::string line;
  for (;;) {
    auto more = lines.next(line);
    if (!more) return std::move(more.error()).in(name);
    if (!*more) return Done{};
    if (trim(line).empty()) continue;
    if (const auto added = add_record(line, samples); !added)
      return at_line(added.error(), name, lines.number());
  }
}

void SampleReader::finish_paragraphs(TokenSamples& samples) {
  if (packed_.empty()) return;
  const auto end = encoder_.end_of_text();
  if (end && packed_.back() != *end && packed_.size() < limits_.longest) packed_.push_back(*end);
  if (packed_.size() >= 2) samples.push_back(packed_);
  packed_.clear();
}

Status SampleReader::add_paragraph(const std::string& paragraph, TokenSamples& samples) {
  std::vector<Id> tokens;
  if (!packed_.empty()) {
    HEADROOM_CHECK(
        encoder_.encode(std::string(paragraph_end) + paragraph, Around::text_before, tokens));
    const std::size_t end = encoder_.end_of_text() ? 1 : 0;
    if (packed_.size() + tokens.size() + end > limits_.longest) finish_paragraphs(samples);
  }
  if (packed_.empty()) {
    tokens.clear();
    HEADROOM_CHECK(encoder_.encode(paragraph, Around::beginning, tokens));
  }
  HEADROOM_CHECK(check_vocabulary(tokens));
  packed_.insert(packed_.end(), tokens.begin(), tokens.end());
  const std::size_t whole = packed_.size() / limits_.longest * limits_.longest;
  const auto rest = packed_.begin() + static_cast<std::ptrdiff_t>(whole);
  add_cut({packed_.begin(), rest}, limits_.longest, samples);
  packed_.erase(packed_.begin(), rest);
  return Done{};
}

Status SampleReader::add_text(const RandomAccess& bytes, const std::string& name,
                              TokenSamples& samples) {
  LineReader lines(bytes);
  std::string line, paragraph;
  std::uint64_t first = 0;  // Line of the paragraph.
  for (bool more = true; more;) {
    auto next = lines.next(line);
    if (!next) return std::move(next.error()).in(name);
    more = *next;
    if (more && !trim(line).empty()) {
      if (paragraph.empty()) {
        first = lines.number();
      } else {
        paragraph += '\n';
      }
      paragraph += line;
      if (paragraph.size() > LineReader::longest_line)
        return Error{Errc::invalid,
                     fmt::format("{}, line {}: expected paragraphs of at most {} bytes, found a "
                                 "longer one",
                                 name, first, LineReader::longest_line),
                     "put blank lines between paragraphs"};
      continue;
    }
    if (paragraph.empty()) continue;
    if (const auto added = add_paragraph(paragraph, samples); !added)
      return at_line(added.error(), name, first);
    paragraph.clear();
  }
  finish_paragraphs(samples);
  return Done{};
}

}  // namespace headroom::tokens
