// SPDX-License-Identifier: Apache-2.0
// Files of text and of records as samples: token sequences of limited length, made while the file
// is read, so that of its text only a line or a paragraph is in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random_access.h"
#include "base/result.h"
#include "tokens/example.h"

namespace headroom::tokens {

struct SampleLimits {
  std::uint64_t longest = 0;     // Tokens of a sample.
  std::uint64_t vocabulary = 0;  // Ids are below this.
};

// What there was, and what became of conversations and completions that did not fit.
struct SampleCounts {
  std::uint64_t conversations = 0;
  std::uint64_t shortened = 0;        // They lost their end.
  std::uint64_t without_targets = 0;  // And had nothing left to learn, or never had.
};

// Tokens as example.h marks them.
using TokenSamples = std::vector<std::vector<Id>>;

class SampleReader {
 public:
  // Requires: `encoder` outlives the reader; limits.longest >= 2.
  SampleReader(TextEncoder& encoder, ChatTemplate chat_template, SampleLimits limits)
      : encoder_(encoder), template_(chat_template), limits_(limits) {}

  // Adds a sample for each line of a .jsonl file; blank lines are left out. A text that is too long
  // becomes several, anything else loses its end. `name`: the file, for errors. Fails at the first
  // line that is wrong, and at a token beyond the vocabulary.
  Status add_records(const RandomAccess& bytes, const std::string& name, TokenSamples& samples);

  // Adds the paragraphs of a text file, which blank lines separate: in order, several to a sample
  // while they fit. A longer one is cut. Fails likewise.
  Status add_text(const RandomAccess& bytes, const std::string& name, TokenSamples& samples);

  const SampleCounts& counts() const { return counts_; }

 private:
  Status check_vocabulary(const std::vector<Id>& tokens) const;
  Status add_record(std::string_view line, TokenSamples& samples);
  Status add_paragraph(const std::string& paragraph, TokenSamples& samples);
  void finish_paragraphs(TokenSamples& samples);

  TextEncoder& encoder_;
  ChatTemplate template_;
  SampleLimits limits_;
  SampleCounts counts_;
  std::vector<Id> packed_;  // Paragraphs that are not a sample yet.
};

}  // namespace headroom::tokens
