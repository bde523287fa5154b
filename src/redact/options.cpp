// SPDX-License-Identifier: Apache-2.0
// The kernel's command line and modprobe.d: how the GPU is driven stays, all other free text goes.
#include <algorithm>

#include "base/text.h"
#include "redact/redactor.h"
#include "redact/settings.h"
#include "redact/words.h"

namespace headroom::redact {
namespace {

std::string_view unquoted(std::string_view value) {
  while (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
         value.front() == value.back()) {
    value = value.substr(1, value.size() - 2);
  }
  return value;
}

// "vmlinuz-6.14.0-37-generic".
bool is_image_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == '+';
  });
}

}  // namespace

// "module.key=value", "key=value" or a switch. `kept_module`: a modprobe file said the module.
std::string Redactor::option(const std::string& word, bool kept_module) {
  const std::string_view plain = unquoted(word);
  const std::size_t sign = plain.find('=');
  if (sign == std::string_view::npos) {
    if (is_plain_switch(plain) || plain == "--" || plain == redacted) return word;
    return withheld(Kind::option, word);
  }
  const std::string key(plain.substr(0, sign));
  const std::string value(unquoted(plain.substr(sign + 1)));
  if (!is_parameter_name(key)) return withheld(Kind::option, word);
  const std::string named = names(key);
  if (value.empty() || value == redacted) return named + "=" + value;
  const std::string start = named + "=";
  if (looks_secret(key)) return start + withheld(Kind::secret, value);
  if (is_plain_value(value)) return named == key ? word : start + value;
  if (key == "BOOT_IMAGE") {
    const std::string image = names(value.substr(value.find_last_of("/)") + 1));
    return start + (is_image_name(image) ? image : withheld(Kind::option, value));
  }
  const std::string module = key.substr(0, std::min(key.find('.'), key.size()));
  const bool kept = kept_module || is_kept_option(key) || (module != key && is_kept_module(module));
  if (!kept) return start + withheld(Kind::option, value);
  const std::string scrubbed = addresses(text(value));
  if (scrubbed == value && named == key) return word;
  const bool one_word = scrubbed.find_first_of(" \t") == std::string::npos;
  return one_word ? start + scrubbed : start + '"' + scrubbed + '"';
}

std::string Redactor::boot_line(std::string_view bytes) {
  bool of_init = false;  // After "--": arguments of a program.
  return replace_quoted_words(bytes, [&](const std::string& word) -> std::string {
    if (of_init) return word == redacted ? word : withheld(Kind::option, word);
    of_init = word == "--";
    return option(word, false);
  });
}

// Line by line, so that findings still name the right one. A backslash at the end continues it.
std::string Redactor::modprobe(std::string_view bytes) {
  std::string result;
  std::string statement;  // The word that the statement began with, while it continues.
  std::size_t words = 0;  // Of the statement so far.
  bool kept_module = false;
  const auto redact_word = [&](const std::string& word) -> std::string {
    if (word == "\\" || word == redacted) return word;
    if (words++ == 0) {
      static constexpr std::array<std::string_view, 6> known{"options", "blacklist", "alias",
                                                             "softdep", "install",   "remove"};
      const bool is_known = std::find(known.begin(), known.end(), word) != known.end();
      statement = is_known ? word : "";
      return is_known ? word : withheld(Kind::line, word);
    }
    if (words == 2) kept_module = is_kept_module(word);
    const bool command = statement == "install" || statement == "remove";
    if (statement.empty() || (command && words > 2)) return withheld(Kind::line, word);
    return statement == "options" && words > 2 ? option(word, kept_module) : names(word);
  };
  for (const std::string_view line : split(bytes, '\n')) {
    const bool continues = line.ends_with('\\');
    if (words == 0 && trim(line).starts_with('#')) {
      result +=
          trim(line) == "#" ? std::string(line) : replaced(Kind::line, std::string(line), "#");
    } else if (continues) {
      result += replace_quoted_words(line.substr(0, line.size() - 1), redact_word) + "\\";
    } else {
      result += replace_quoted_words(line, redact_word);
    }
    if (!continues) words = 0;
    result += '\n';
  }
  result.pop_back();
  return result;
}

}  // namespace headroom::redact
