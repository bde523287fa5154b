// SPDX-License-Identifier: Apache-2.0
#include "tokens/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/document.h"
#include "base/encoding.h"
#include "base/text.h"
#include "tokens/byte_level.h"
#include "tokens/characters.h"
#include "tokens/json_part.h"
#include "tokens/pre_tokenizer.h"

namespace headroom::tokens {
namespace {

constexpr std::string_view replacement_character = "\xef\xbf\xbd";  // U+FFFD

using DecoderPointer = std::unique_ptr<Decoder>;

class ByteLevelDecoder final : public Decoder {
 public:
  Status apply(std::vector<std::string>& texts) const override {
    for (std::string& text : texts) text = to_bytes(text);
    return Done{};
  }

 private:
  // An added token may be written in other characters than the alphabet's; it stands for itself.
  static std::string to_bytes(const std::string& text) {
    std::string bytes;
    for (std::size_t at = 0; at < text.size();) {
      const auto byte = from_byte_level(take_character(text, at));
      if (!byte) return text;
      bytes += static_cast<char>(*byte);
    }
    return bytes;
  }
};

class ByteFallbackDecoder final : public Decoder {
 public:
  Status apply(std::vector<std::string>& texts) const override {
    std::vector<std::string> decoded;
    std::string bytes;
    const auto finish_bytes = [&] {
      if (is_utf8(bytes)) {
        if (!bytes.empty()) decoded.push_back(bytes);
      } else {
        for (std::size_t i = 0; i < bytes.size(); ++i) decoded.emplace_back(replacement_character);
      }
      bytes.clear();
    };
    for (std::string& text : texts) {
      if (const auto byte = byte_of(text)) {
        bytes += static_cast<char>(*byte);
        continue;
      }
      finish_bytes();
      decoded.push_back(std::move(text));
    }
    finish_bytes();
    texts = std::move(decoded);
    return Done{};
  }

 private:
  static std::optional<std::uint64_t> byte_of(std::string_view text) {
    constexpr std::size_t length = 6;  // <0x0A>
    if (text.size() != length || !text.starts_with("<0x") || !text.ends_with('>'))
      return std::nullopt;
    return parse_hex(text.substr(3, 2));
  }
};

class Fuse final : public Decoder {
 public:
  Status apply(std::vector<std::string>& texts) const override {
    texts = {join(texts, "")};
    return Done{};
  }
};

class StripDecoder final : public Decoder {
 public:
  StripDecoder(std::string content, std::uint64_t start, std::uint64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}

  Status apply(std::vector<std::string>& texts) const override {
    for (std::string& text : texts) {
      std::string_view rest = text;
      for (std::uint64_t i = 0; i < start_ && rest.starts_with(content_); ++i)
        rest.remove_prefix(content_.size());
      for (std::uint64_t i = 0; i < stop_ && rest.ends_with(content_); ++i)
        rest.remove_suffix(content_.size());
      if (rest.size() != text.size()) text = std::string(rest);
    }
    return Done{};
  }

 private:
  std::string content_;
  std::uint64_t start_, stop_;
};

class ReplaceDecoder final : public Decoder {
 public:
  ReplaceDecoder(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  Status apply(std::vector<std::string>& texts) const override {
    std::vector<Span> matches;
    for (std::string& text : texts) {
      HEADROOM_CHECK(pattern_.find_all(text, matches));
      for (auto match = matches.rbegin(); match != matches.rend(); ++match)
        text.replace(match->begin, match->end - match->begin, content_);
    }
    return Done{};
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class MetaspaceDecoder final : public Decoder {
 public:
  MetaspaceDecoder(std::string replacement, PrependScheme prepend)
      : replacement_(std::move(replacement)),
        pattern_(Pattern::exactly(replacement_)),
        prepend_(prepend) {}

  Status apply(std::vector<std::string>& texts) const override {
    std::vector<Span> matches;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const bool is_removed = i == 0 && prepend_ != PrependScheme::never;
      HEADROOM_CHECK(pattern_.find_all(texts[i], matches));
      for (auto match = matches.rbegin(); match != matches.rend(); ++match)
        texts[i].replace(match->begin, match->end - match->begin, is_removed ? "" : " ");
    }
    return Done{};
  }

 private:
  std::string replacement_;
  Pattern pattern_;
  PrependScheme prepend_;
};

class DecoderSequence final : public Decoder {
 public:
  explicit DecoderSequence(std::vector<DecoderPointer> parts) : parts_(std::move(parts)) {}
  Status apply(std::vector<std::string>& texts) const override {
    for (const auto& part : parts_) HEADROOM_CHECK(part->apply(texts));
    return Done{};
  }

 private:
  std::vector<DecoderPointer> parts_;
};

DecoderPointer read_one(TableReader& table, int depth);

DecoderPointer read_sequence(TableReader& table, int depth) {
  if (depth >= deepest_sequence) {
    table.wrong("decoders",
                fmt::format("at most {} sequences within each other", deepest_sequence));
    return nullptr;
  }
  std::vector<DecoderPointer> parts;
  for (TableReader& part : table.tables("decoders"))
    if (auto read = read_one(part, depth + 1)) parts.push_back(std::move(read));
  return std::make_unique<DecoderSequence>(std::move(parts));
}

DecoderPointer read_strip(TableReader& table) {
  std::string content = table.text("content");
  if (content.empty()) table.wrong("content", "one character");
  const std::uint64_t start = table.number("start");
  return std::make_unique<StripDecoder>(std::move(content), start, table.number("stop"));
}

DecoderPointer read_one(TableReader& table, int depth) {
  const std::string type = table.text("type");
  if (type == "Sequence") return read_sequence(table, depth);
  if (type == "ByteLevel") return std::make_unique<ByteLevelDecoder>();
  if (type == "ByteFallback") return std::make_unique<ByteFallbackDecoder>();
  if (type == "Fuse") return std::make_unique<Fuse>();
  if (type == "Strip") return read_strip(table);
  if (type == "Replace") {
    Pattern pattern = read_pattern(table, "pattern");
    return std::make_unique<ReplaceDecoder>(std::move(pattern), table.text("content"));
  }
  if (type == "Metaspace") {
    std::string replacement = table.text("replacement");
    return std::make_unique<MetaspaceDecoder>(std::move(replacement), read_prepend_scheme(table));
  }
  refuse_type(table, "decoder",
              {"Sequence", "ByteLevel", "ByteFallback", "Fuse", "Strip", "Replace", "Metaspace"});
  return nullptr;
}

}  // namespace

std::unique_ptr<Decoder> read_decoder(TableReader& table, std::string_view key) {
  if (!table.has(key)) return nullptr;
  TableReader inner = table.table(key);
  return read_one(inner, 0);
}

}  // namespace headroom::tokens
