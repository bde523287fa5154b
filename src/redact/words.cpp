// SPDX-License-Identifier: Apache-2.0
#include "redact/words.h"

#include <algorithm>

#include "base/text.h"
#include "redact/settings.h"

namespace headroom::redact {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_word(char c) {
  return is_digit(c) || is_letter(c) || c == '_';
}

// Every longest run of characters that belong; `change` sees it and answers with what it becomes.
std::string replace_runs(std::string_view text, bool (*belongs)(char), const Replace& change) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && belongs(text[end])) ++end;
    if (end > at) {
      result += change(std::string(text.substr(at, end - at)));
      at = end;
    } else {
      result += text[at++];
    }
  }
  return result;
}

bool is_uuid_at(std::string_view text) {
  constexpr std::size_t length = 36;
  if (text.size() < length) return false;
  for (std::size_t i = 0; i < length; ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return text.size() == length || !is_word(text[length]);
}

bool is_ip4(std::string_view text) {
  const auto parts = split(text, '.');
  return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
           const auto number = parse_u64(part);
           return number && *number <= 255 && part.size() <= 3;
         });
}

bool are_hex_groups(const std::vector<std::string_view>& groups, std::size_t digits) {
  return std::all_of(groups.begin(), groups.end(), [&](std::string_view group) {
    return group.size() <= digits && std::all_of(group.begin(), group.end(), is_hex);
  });
}

// "fe80::1", "2001:db8:0:0:0:0:0:1"; a PCI address ("0000:03:00") has three groups and no "::".
bool is_ip6(std::string_view text) {
  const auto groups = split(text, ':');
  if (groups.size() < 3 || groups.size() > 8 || !are_hex_groups(groups, 4)) return false;
  return text.find("::") != std::string_view::npos || groups.size() == 8;
}

bool is_mac(std::string_view text) {
  const char separator = text.find('-') != std::string_view::npos ? '-' : ':';
  const auto pairs = split(text, separator);
  return pairs.size() == 6 && are_hex_groups(pairs, 2) &&
         std::all_of(pairs.begin(), pairs.end(), [](auto pair) { return pair.size() == 2; });
}

bool may_be_in_address(char c) {
  return is_hex(c) || c == '.' || c == ':' || c == '-';
}

}  // namespace

std::string replace_word(std::string_view text, std::string_view word, const Replace& replace) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find(word); !word.empty() && at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool alone = (at == 0 || !is_word(text[at - 1]) || !is_word(word.front())) &&
                       (end == text.size() || !is_word(text[end]) || !is_word(word.back()));
    if (!alone || at < done) continue;
    result += text.substr(done, at - done);
    result += replace(std::string(word));
    done = end;
  }
  return result + std::string(text.substr(done));
}

std::string replace_uuids(std::string_view text, const Replace& replace) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t hyphen = text.find('-'); hyphen != std::string_view::npos;
       hyphen = text.find('-', hyphen + 1)) {
    constexpr std::size_t before_hyphen = 8;
    constexpr std::size_t length = 36;
    if (hyphen < done + before_hyphen) continue;
    const std::size_t at = hyphen - before_hyphen;
    if (at > 0 && is_word(text[at - 1])) continue;
    if (!is_uuid_at(text.substr(at))) continue;
    result += text.substr(done, at - done);
    result += replace(std::string(text.substr(at, length)));
    done = at + length;
  }
  return result + std::string(text.substr(done));
}

std::string replace_addresses(std::string_view text, const Replace& replace) {
  const auto change = [&](const std::string& run) -> std::string {
    // A port, or punctuation, may hang on to it: 10.0.0.1:22, "at 10.0.0.1."
    if (is_mac(run) || is_ip6(run)) return replace(run);
    std::string result;
    std::size_t done = 0;
    for (std::size_t end = 0; end <= run.size(); ++end) {
      if (end < run.size() && run[end] != ':' && run[end] != '-') continue;
      std::string part = run.substr(done, end - done);
      const std::size_t rest = part.ends_with('.') ? 1 : 0;
      const std::string plain = part.substr(0, part.size() - rest);
      result += is_ip4(plain) ? replace(plain) + part.substr(plain.size()) : part;
      if (end < run.size()) result += run[end];
      done = end + 1;
    }
    return result;
  };
  return replace_runs(text, may_be_in_address, change);
}

std::string replace_home_names(std::string_view text, const Replace& replace) {
  constexpr std::string_view home = "/home/";
  const auto in_name = [](char c) { return is_word(c) || c == '-' || c == '.' || c == '@'; };
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find(home); at != std::string_view::npos;
       at = text.find(home, at + 1)) {
    const std::size_t start = at + home.size();
    std::size_t end = start;
    while (end < text.size() && (in_name(text[end]) || (text[end] & 0x80) != 0)) ++end;
    const std::string name(text.substr(start, end - start));
    if (name.empty() || start < done) continue;
    result += text.substr(done, start - done);
    result += replace(name);
    done = end;
  }
  return result + std::string(text.substr(done));
}

std::string replace_quoted_words(std::string_view text, const Replace& replace) {
  std::string result;
  std::string word;
  char quote = '\0';
  const auto flush = [&] {
    if (!word.empty()) result += replace(word);
    word.clear();
  };
  for (const char c : text) {
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
      flush();
      result += c;
      continue;
    }
    if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    }
    word += c;
  }
  flush();
  return result;
}

std::string replace_secrets(std::string_view text, const Replace& replace) {
  const auto in_name = [](char c) { return is_word(c) || c == '-' || c == '.'; };
  const auto fills = [](char c) { return c == ' ' || c == '\t' || c == '"' || c == '\''; };
  constexpr std::string_view ends_value = " \t\n\r\"',;}";
  std::string result;
  std::size_t done = 0;
  for (std::size_t sign = text.find_first_of("=:"); sign != std::string_view::npos;
       sign = text.find_first_of("=:", sign + 1)) {
    std::size_t name_end = sign;
    while (name_end > done && fills(text[name_end - 1])) --name_end;
    std::size_t name = name_end;
    while (name > done && in_name(text[name - 1])) --name;
    if (name == name_end || !looks_secret(text.substr(name, name_end - name))) continue;
    std::size_t value = sign + 1;
    while (value < text.size() && fills(text[value])) ++value;
    const std::size_t end = std::min(text.find_first_of(ends_value, value), text.size());
    if (end == value) continue;
    result += text.substr(done, value - done);
    result += replace(std::string(text.substr(value, end - value)));
    done = end;
    sign = end - 1;
  }
  return result + std::string(text.substr(done));
}

}  // namespace headroom::redact
