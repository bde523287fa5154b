// SPDX-License-Identifier: Apache-2.0
#include "tokens/pattern_syntax.h"

#include <fmt/format.h>

#include <array>

namespace headroom::tokens {
namespace {

// White_Space; PCRE2's \s has U+180E as well.
constexpr std::string_view white_space =
    R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
// PCRE2's \w has neither marks nor connectors other than '_'.
constexpr std::string_view word = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

// After a backslash these mean the same in both.
constexpr std::string_view same_escapes = "dDrntfaezZAx";
constexpr std::array<std::string_view, 8> groups = {
    "?:", "?=", "?!", "?<=", "?<!", "?>", "?i:", "?-i:"};

class Translation {
 public:
  explicit Translation(std::string_view expression) : rest_(expression) {}

  Result<std::string> finish() {
    if (rest_.starts_with("(?i)")) take(4);  // Of the whole expression; elsewhere the two differ.
    while (!rest_.empty()) {
      if (rest_[0] == '\\') {
        HEADROOM_CHECK(translate_escape());
      } else if (rest_[0] == '[') {
        HEADROOM_CHECK(translate_class());
      } else if (rest_[0] == '(') {
        HEADROOM_CHECK(check_group());
        take(1);
      } else if (rest_.starts_with("}+") || rest_.starts_with("{,")) {
        return refused(rest_.substr(0, 2));
      } else {
        take(1);
      }
    }
    return std::move(out_);
  }

 private:
  static Error refused(std::string_view what) {
    return {Errc::unsupported,
            fmt::format("expected a regular expression of the parts that byte-level tokenizers "
                        "use, found \"{}\"",
                        what),
            "use a tokenizer.json of a family that docs/train.md names, or tokenise the data with "
            "the model's own tokenizer and write kind = \"tokens\""};
  }

  void take(std::size_t count) {
    out_ += rest_.substr(0, count);
    rest_.remove_prefix(count);
  }
  void put(std::size_t instead_of, std::string_view text) {
    out_ += text;
    rest_.remove_prefix(instead_of);
  }

  Status check_group() const {
    const std::string_view inner = rest_.substr(1);
    if (!inner.starts_with('?') && !inner.starts_with('*')) return Done{};
    for (const std::string_view group : groups)
      if (inner.starts_with(group)) return Done{};
    return refused(rest_.substr(0, 4));
  }

  Status translate_escape() {
    const char letter = rest_.size() > 1 ? rest_[1] : '\0';
    if (letter == 's') {
      put(2, fmt::format("[{}]", white_space));
    } else if (letter == 'S') {
      put(2, fmt::format("[^{}]", white_space));
    } else if (letter == 'w') {
      put(2, fmt::format("[{}]", word));
    } else if (letter == 'W') {
      put(2, fmt::format("[^{}]", word));
    } else {
      return translate_plain_escape(letter);
    }
    return Done{};
  }

  // One that means the same in a class and outside of it.
  Status translate_plain_escape(char letter) {
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    const bool is_digit = letter >= '0' && letter <= '9';
    if ((letter == 'p' || letter == 'P') && rest_.substr(2).starts_with('{')) {
      return translate_property();
    }
    if (letter == 'v') {
      put(2, R"(\x{0b})");
    } else if (letter == 'u' && rest_.size() >= 6) {
      const std::string code(rest_.substr(2, 4));
      put(6, fmt::format("\\x{{{}}}", code));
    } else if (letter == '\0' || is_digit ||
               (is_letter && same_escapes.find(letter) == std::string_view::npos)) {
      return refused(rest_.substr(0, 2));
    } else {
      take(2);
    }
    return Done{};
  }

  // \p{L} or \p{Han}. PCRE2 reads a script's name as Script_Extensions, Oniguruma as Script.
  Status translate_property() {
    constexpr std::size_t opening = 3;  // \p{
    const std::size_t end = rest_.find('}');
    if (end == std::string_view::npos) return refused(rest_.substr(0, 8));
    std::string_view name = rest_.substr(opening, end - opening);
    std::string out(rest_.substr(0, opening));
    if (name.starts_with('^')) {
      out += '^';
      name.remove_prefix(1);
    }
    if (name.empty() || name.find_first_of(":=\\") != std::string_view::npos)
      return refused(rest_.substr(0, end + 1));
    constexpr std::size_t longest_category = 2;
    if (name.size() > longest_category) out += "sc:";
    put(end + 1, fmt::format("{}{}}}", out, name));
    return Done{};
  }

  Status translate_class() {
    take(1);
    if (rest_.starts_with('^')) take(1);
    if (rest_.starts_with(']')) return refused("[]");  // Oniguruma warns; PCRE2 takes it as it is.
    while (!rest_.empty() && rest_[0] != ']') {
      if (rest_.starts_with("&&")) return refused("&&");
      if (rest_[0] == '[') return refused(rest_.substr(0, 2));
      if (rest_.starts_with("\\s")) {
        put(2, white_space);
      } else if (rest_.starts_with("\\w")) {
        put(2, word);
      } else if (rest_.starts_with("\\S") || rest_.starts_with("\\W")) {
        return refused("[" + std::string(rest_.substr(0, 2)));
      } else if (rest_[0] == '\\') {
        HEADROOM_CHECK(translate_plain_escape(rest_.size() > 1 ? rest_[1] : '\0'));
      } else {
        take(1);
      }
    }
    if (!rest_.empty()) take(1);
    return Done{};
  }

  std::string_view rest_;
  std::string out_;
};

}  // namespace

Result<std::string> to_pcre2(std::string_view expression) {
  return Translation(expression).finish();
}

}  // namespace headroom::tokens
