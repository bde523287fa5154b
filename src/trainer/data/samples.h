// SPDX-License-Identifier: Apache-2.0
// Training text as samples: sequences of token ids of varying length, in the order of the files.
// Files are read piece by piece; what is kept of them is their tokens, four bytes each. What
// another program tokenised into arrays stays where it is: stored_samples.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokens/token_layout.h"

namespace headroom::trainer::data {

// A token that is only read and not learned is below 0 (tokens/example.h).
using Sample = std::vector<std::int32_t>;
using Samples = std::vector<Sample>;
std::uint64_t count_tokens(const Samples& samples);

// Byte-level text: ids 0–255 are the bytes of UTF-8, this one ends a sample.
inline constexpr std::int32_t end_of_sample = 256;
inline constexpr std::uint64_t byte_vocabulary = 257;

// Adds the samples of one text. Paragraphs (split at blank lines) are packed in order into samples
// of at most `longest` tokens, end_of_sample included; a longer paragraph is cut. Paragraphs within
// a sample stay apart by one blank line. Requires: longest >= 2.
void add_text_samples(std::string_view text, std::uint64_t longest, Samples& samples);

// Adds the samples of one token file: each line that is not blank is one, its ids separated by
// blanks, cut after `longest`. Fails at the first word that is no id below `vocabulary`, with its
// line; `name` is the file's. Lines with a single id are left out: they have nothing to predict.
struct TokenFormat {
  std::uint64_t longest = 0;
  std::uint64_t vocabulary = 0;
};
Status add_token_samples(std::string_view text, const std::string& name, TokenFormat format,
                         Samples& samples);

// Where the data of a job is and how it is written.
struct Source {
  std::vector<std::string> paths;  // Files, or folders that are searched by the kind's endings.
  std::string kind = "text";       // Or "tokens", "jsonl"; "bin", "npy" for open_samples() alone.
  std::uint64_t longest = 0;       // batch.sequence
  std::uint64_t vocabulary = 0;
  std::string key = "data.path";   // Of the job, for errors.
  std::string tokenizer = {};      // Of a tokenizer.json or .model; empty: byte by byte.
  std::string chat_template = {};  // Of conversations; empty: recognised by the tokenizer's tokens.
  std::optional<std::int32_t> end_of_text =
      {};  // As config.json has it; the tokenizer's goes first.
  std::optional<tokens::TokenType> token_type = {};  // Of .bin files without a header.
  bool packing = false;  // Whether samples lie end to end in rows of `longest` tokens.
};

// The files, those of a folder sorted by name. Fails on a folder that cannot be read.
Result<std::vector<std::string>> list_files(const Source& source);

// Files are read in the order of the paths, those of a folder sorted by name, so that the same
// folder gives the same samples anywhere. Adds to `notes` what a person should know of how they
// were read. Fails on a file that cannot be read, on data of the wrong kind and on data without a
// single sample.
Result<Samples> read_samples(const Source& source, std::vector<std::string>& notes);
Result<Samples> read_samples(const Source& source);  // The same without notes.

}  // namespace headroom::trainer::data
