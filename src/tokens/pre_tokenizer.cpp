// SPDX-License-Identifier: Apache-2.0
#include "tokens/pre_tokenizer.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/document.h"
#include "base/encoding.h"
#include "tokens/byte_level.h"
#include "tokens/characters.h"
#include "tokens/json_part.h"

namespace headroom::tokens {
namespace {

using PreTokenizerPointer = std::unique_ptr<PreTokenizer>;

// What GPT-2 cuts by (openai/gpt-2: src/encoder.py), which "ByteLevel" stands for.
constexpr std::string_view gpt2_words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// The parts of a piece: the matches, and what lies between them.
Status find_parts(const Pattern& pattern, std::string_view piece, bool invert,
                  std::vector<Part>& parts) {
  std::vector<Span> matches;
  HEADROOM_CHECK(pattern.find_all(piece, matches));
  std::size_t at = 0;
  for (const Span& match : matches) {
    if (match.begin != at) parts.push_back({{at, match.begin}, invert});
    parts.push_back({match, !invert});
    at = match.end;
  }
  if (at != piece.size()) parts.push_back({{at, piece.size()}, invert});
  return Done{};
}

Status cut_by_pattern(Pieces& pieces, const Pattern& pattern, Delimiter delimiter, bool invert) {
  return pieces.cut(delimiter, [&](std::string_view piece, std::vector<Part>& parts) {
    return find_parts(pattern, piece, invert, parts);
  });
}

// Every character for which `is_delimiter` holds is a match of its own.
template <class IsDelimiter>
Status cut_by_character(Pieces& pieces, Delimiter delimiter, const IsDelimiter& is_delimiter) {
  return pieces.cut(delimiter, [&](std::string_view piece, std::vector<Part>& parts) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t here = at;
      if (!is_delimiter(take_character(piece, at))) continue;
      if (begin != here) parts.push_back({{begin, here}, false});
      parts.push_back({{here, at}, true});
      begin = at;
    }
    if (begin != piece.size()) parts.push_back({{begin, piece.size()}, false});
    return Status(Done{});
  });
}

class Split final : public PreTokenizer {
 public:
  Split(Pattern pattern, Delimiter delimiter, bool invert)
      : pattern_(std::move(pattern)), delimiter_(delimiter), invert_(invert) {}
  Status apply(Pieces& pieces) const override {
    return cut_by_pattern(pieces, pattern_, delimiter_, invert_);
  }

 private:
  Pattern pattern_;
  Delimiter delimiter_;
  bool invert_;
};

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool adds_space, std::optional<Pattern> words)
      : adds_space_(adds_space), words_(std::move(words)) {}

  Status apply(Pieces& pieces) const override {
    if (adds_space_)
      pieces.rewrite([](std::string_view piece, bool /*is_first*/, std::string& text) {
        if (!piece.starts_with(' ')) text += ' ';
        text += piece;
      });
    if (words_) HEADROOM_CHECK(cut_by_pattern(pieces, *words_, Delimiter::isolated, false));
    pieces.rewrite([](std::string_view piece, bool /*is_first*/, std::string& text) {
      append_byte_level(piece, text);
    });
    return Done{};
  }

 private:
  bool adds_space_;
  std::optional<Pattern> words_;
};

class Metaspace final : public PreTokenizer {
 public:
  Metaspace(std::string replacement, PrependScheme prepend, bool split)
      : replacement_(std::move(replacement)),
        pattern_(Pattern::exactly(replacement_)),
        prepend_(prepend),
        split_(split) {}

  Status apply(Pieces& pieces) const override {
    pieces.rewrite([this](std::string_view piece, bool is_first, std::string& text) {
      const bool prepends =
          prepend_ == PrependScheme::always || (prepend_ == PrependScheme::first && is_first);
      if (prepends && !piece.starts_with(' ') && !piece.starts_with(replacement_))
        text += replacement_;
      for (const char byte : piece) {
        if (byte == ' ') {
          text += replacement_;
        } else {
          text += byte;
        }
      }
    });
    return split_ ? cut_by_pattern(pieces, pattern_, Delimiter::merged_with_next, false)
                  : Status(Done{});
  }

 private:
  std::string replacement_;
  Pattern pattern_;
  PrependScheme prepend_;
  bool split_;
};

class Digits final : public PreTokenizer {
 public:
  explicit Digits(bool individual) : individual_(individual) {}
  Status apply(Pieces& pieces) const override {
    return cut_by_character(pieces, individual_ ? Delimiter::isolated : Delimiter::contiguous,
                            is_numeric);
  }

 private:
  bool individual_;
};

class Punctuation final : public PreTokenizer {
 public:
  explicit Punctuation(Delimiter delimiter) : delimiter_(delimiter) {}
  Status apply(Pieces& pieces) const override {
    return cut_by_character(pieces, delimiter_, is_punctuation);
  }

 private:
  Delimiter delimiter_;
};

class WhitespaceSplit final : public PreTokenizer {
 public:
  Status apply(Pieces& pieces) const override {
    return cut_by_character(pieces, Delimiter::removed, is_white_space);
  }
};

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<PreTokenizerPointer> parts)
      : parts_(std::move(parts)) {}
  Status apply(Pieces& pieces) const override {
    for (const auto& part : parts_) HEADROOM_CHECK(part->apply(pieces));
    return Done{};
  }

 private:
  std::vector<PreTokenizerPointer> parts_;
};

Delimiter read_delimiter(TableReader& table) {
  Delimiter delimiter = Delimiter::isolated;
  table.read_choice("behavior", delimiter,
                    {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"});
  return delimiter;
}

PreTokenizerPointer read_byte_level(TableReader& table) {
  const bool adds_space = table.flag("add_prefix_space");
  bool uses_words = true;  // Before there was such a key.
  table.read("use_regex", uses_words);
  std::optional<Pattern> words;
  if (uses_words) {
    if (auto compiled = Pattern::compile(gpt2_words)) words = *std::move(compiled);
  }
  return std::make_unique<ByteLevel>(adds_space, std::move(words));
}

PreTokenizerPointer read_metaspace(TableReader& table) {
  std::string replacement = table.text("replacement");
  if (replacement.empty() || first_code_point(replacement).length != replacement.size())
    table.wrong("replacement", "one character");
  const PrependScheme prepend = read_prepend_scheme(table);
  bool split = true;
  table.read("split", split);
  return std::make_unique<Metaspace>(std::move(replacement), prepend, split);
}

PreTokenizerPointer read_one(TableReader& table, int depth);

PreTokenizerPointer read_sequence(TableReader& table, int depth) {
  if (depth >= deepest_sequence) {
    table.wrong("pretokenizers",
                fmt::format("at most {} sequences within each other", deepest_sequence));
    return nullptr;
  }
  std::vector<PreTokenizerPointer> parts;
  for (TableReader& part : table.tables("pretokenizers"))
    if (auto read = read_one(part, depth + 1)) parts.push_back(std::move(read));
  return std::make_unique<PreTokenizerSequence>(std::move(parts));
}

PreTokenizerPointer read_one(TableReader& table, int depth) {
  const std::string type = table.text("type");
  if (type == "Sequence") return read_sequence(table, depth);
  if (type == "ByteLevel") return read_byte_level(table);
  if (type == "Metaspace") return read_metaspace(table);
  if (type == "Digits") return std::make_unique<Digits>(table.flag("individual_digits"));
  if (type == "Punctuation") return std::make_unique<Punctuation>(read_delimiter(table));
  if (type == "WhitespaceSplit") return std::make_unique<WhitespaceSplit>();
  if (type == "Split") {
    Pattern pattern = read_pattern(table, "pattern");
    const Delimiter delimiter = read_delimiter(table);
    return std::make_unique<Split>(std::move(pattern), delimiter, table.flag("invert"));
  }
  refuse_type(
      table, "pre_tokenizer",
      {"Sequence", "Split", "ByteLevel", "Metaspace", "Digits", "Punctuation", "WhitespaceSplit"});
  return nullptr;
}

}  // namespace

PrependScheme read_prepend_scheme(TableReader& table) {
  bool adds_space = true;
  table.read("add_prefix_space", adds_space);
  PrependScheme prepend = adds_space ? PrependScheme::always : PrependScheme::never;
  table.read_choice("prepend_scheme", prepend, {"always", "never", "first"});
  return prepend;
}

std::unique_ptr<PreTokenizer> read_pre_tokenizer(TableReader& table, std::string_view key) {
  if (!table.has(key)) return nullptr;
  TableReader inner = table.table(key);
  return read_one(inner, 0);
}

}  // namespace headroom::tokens
