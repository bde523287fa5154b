// SPDX-License-Identifier: Apache-2.0
#include "tokens/normalizer.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "base/document.h"
#include "tokens/characters.h"
#include "tokens/json_part.h"

namespace headroom::tokens {
namespace {

// A text that is replaced again and again grows by any factor; no real one comes near.
constexpr std::size_t longest_text = std::size_t{256} << 20U;

Status check_length(std::size_t length) {
  if (length <= longest_text) return Done{};
  return Error{Errc::invalid,
               fmt::format("expected a text of at most {} bytes after normalisation, found more",
                           longest_text),
               "use the tokenizer.json that came with the model"};
}

using NormalizerPointer = std::unique_ptr<Normalizer>;

// NFC, NFD, NFKC and NFKD.
class UnicodeForm final : public Normalizer {
 public:
  explicit UnicodeForm(int options) : options_(options) {}

  Status apply(std::string& text) const override {
    if (is_in_form(text)) return Done{};
    utf8proc_uint8_t* changed = nullptr;
    const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &changed,
                                     static_cast<utf8proc_option_t>(options_));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(changed, &std::free);
    if (length < 0)
      return Error{Errc::invalid,
                   fmt::format("expected a text that Unicode normalisation accepts: {}",
                               utf8proc_errmsg(length)),
                   "shorten the line"};
    text.assign(reinterpret_cast<const char*>(changed), static_cast<std::size_t>(length));
    return check_length(text.size());
  }

 private:
  // Below U+0080 nothing changes in any form, below U+0300 nothing in NFC.
  bool is_in_form(std::string_view text) const {
    const bool is_nfc = (options_ & (UTF8PROC_COMPOSE | UTF8PROC_COMPAT)) == UTF8PROC_COMPOSE;
    const unsigned char first_changed = is_nfc ? 0xcc : 0x80;
    for (const char byte : text)
      if (static_cast<unsigned char>(byte) >= first_changed) return false;
    return true;
  }

  int options_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string text) : text_(std::move(text)) {}
  Status apply(std::string& text) const override {
    if (!text.empty()) text.insert(0, text_);
    return Done{};
  }

 private:
  std::string text_;
};

class Replace final : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  Status apply(std::string& text) const override {
    std::vector<Span> matches;
    HEADROOM_CHECK(pattern_.find_all(text, matches));
    if (matches.empty()) return Done{};
    HEADROOM_CHECK(check_length(text.size() + matches.size() * content_.size()));
    std::string changed;
    std::size_t at = 0;
    for (const Span& match : matches) {
      changed.append(text, at, match.begin - at);
      changed += content_;
      at = match.end;
    }
    changed.append(text, at);
    text = std::move(changed);
    return Done{};
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  Status apply(std::string& text) const override {
    std::string_view rest = text;
    if (left_) rest = without_white_space_before(rest);
    if (right_) rest = without_white_space_behind(rest);
    if (rest.size() != text.size()) text = std::string(rest);
    return Done{};
  }

 private:
  bool left_, right_;
};

class Lowercase final : public Normalizer {
 public:
  Status apply(std::string& text) const override {
    constexpr char32_t capital_i_with_dot = 0x130;  // The one that becomes two.
    std::string changed;
    for (std::size_t at = 0; at < text.size();) {
      const char32_t code = take_character(text, at);
      if (code == capital_i_with_dot) {
        changed += "i\xcc\x87";
      } else {
        append_character(
            static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))), changed);
      }
    }
    text = std::move(changed);
    return Done{};
  }
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<NormalizerPointer> parts) : parts_(std::move(parts)) {}
  Status apply(std::string& text) const override {
    for (const auto& part : parts_) HEADROOM_CHECK(part->apply(text));
    return Done{};
  }

 private:
  std::vector<NormalizerPointer> parts_;
};

NormalizerPointer read_one(TableReader& table, int depth);

NormalizerPointer read_sequence(TableReader& table, int depth) {
  std::vector<NormalizerPointer> parts;
  if (depth >= deepest_sequence) {
    table.wrong("normalizers",
                fmt::format("at most {} sequences within each other", deepest_sequence));
    return nullptr;
  }
  for (TableReader& part : table.tables("normalizers"))
    if (auto read = read_one(part, depth + 1)) parts.push_back(std::move(read));
  return std::make_unique<NormalizerSequence>(std::move(parts));
}

NormalizerPointer read_one(TableReader& table, int depth) {
  constexpr int compose = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
  constexpr int decompose = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
  const std::string type = table.text("type");
  if (type == "Sequence") return read_sequence(table, depth);
  if (type == "NFC") return std::make_unique<UnicodeForm>(compose);
  if (type == "NFD") return std::make_unique<UnicodeForm>(decompose);
  if (type == "NFKC") return std::make_unique<UnicodeForm>(compose | UTF8PROC_COMPAT);
  if (type == "NFKD") return std::make_unique<UnicodeForm>(decompose | UTF8PROC_COMPAT);
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "Prepend") return std::make_unique<Prepend>(table.text("prepend"));
  if (type == "Strip") {
    const bool left = table.flag("strip_left");
    return std::make_unique<Strip>(left, table.flag("strip_right"));
  }
  if (type == "Replace") {
    Pattern pattern = read_pattern(table, "pattern");
    return std::make_unique<Replace>(std::move(pattern), table.text("content"));
  }
  refuse_type(
      table, "normalizer",
      {"Sequence", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Prepend", "Strip", "Replace"});
  return nullptr;
}

}  // namespace

std::unique_ptr<Normalizer> read_normalizer(TableReader& table, std::string_view key) {
  if (!table.has(key)) return nullptr;
  TableReader inner = table.table(key);
  return read_one(inner, 0);
}

}  // namespace headroom::tokens
