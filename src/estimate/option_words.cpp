// SPDX-License-Identifier: Apache-2.0
#include "estimate/option_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/document.h"
#include "base/text.h"

namespace headroom::estimate {
namespace {

constexpr std::string_view own_prefix = "headroom-";
constexpr std::size_t shown = 80;

std::string with_dashes(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

bool is_switch(const Option& option) {
  return option.kind != OptionKind::text && option.kind != OptionKind::number;
}

const Option* find_named(const OptionTable& table, std::string_view name, bool brief) {
  const auto found =
      std::find_if(table.options.begin(), table.options.end(), [&](const Option& one) {
        return !name.empty() &&
               (one.name == name || one.also == name || (brief && one.brief == name));
      });
  return found == table.options.end() ? nullptr : &*found;
}

const Option* find_typed(const OptionTable& table, std::string_view name, bool brief) {
  const bool is_own = name.starts_with(own_prefix);
  const Option* option =
      find_named(table, is_own ? name.substr(own_prefix.size()) : name, brief && !is_own);
  if (option == nullptr) return nullptr;
  const OptionPlace place = is_own ? OptionPlace::headroom : OptionPlace::anywhere;
  return option->place == place ? option : nullptr;
}

// LLAMA_ARG_CTX_SIZE is the option ctx-size.
const Option* find_key(const OptionTable& table, std::string_view key) {
  if (const Option* option = find_named(table, with_dashes(key), false)) return option;
  const std::string_view prefix = table.variable_prefix;
  if (prefix.empty() || !key.starts_with(prefix)) return nullptr;
  return find_named(table, with_dashes(to_lower(key.substr(prefix.size()))), false);
}

// Options of other programs' that take no value, so that the word behind one stands for itself.
bool is_plain_switch(std::string_view name) {
  constexpr std::array names = {"trust-remote-code", "use-tqdm-on-load", "headless",
                                "async-scheduling"};
  return name.starts_with("enable-") || name.starts_with("disable-") || name.starts_with("no-") ||
         std::find(names.begin(), names.end(), name) != names.end();
}

// "-O3", "-cc.level=3": one letter's value may be written into the same word.
bool holds_its_value(std::string_view word) {
  return !word.starts_with("--") && word.size() > 2 && word.back() >= '0' && word.back() <= '9';
}

bool is_switch_value(const Option& option, std::string_view word) {
  if (word.empty()) return false;
  return parse_switch(word) || (option.kind == OptionKind::maybe && is_automatic(word));
}

std::string to_word(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (!value.is_array()) return value.dump();
  std::vector<std::string> words;
  for (const Json& one : value) words.push_back(to_word(one));
  return join(words, ",");
}

class Splitter {
 public:
  Splitter(const std::vector<std::string>& words, const OptionTable& table)
      : words_(words), table_(table) {}

  Result<GivenOptions> split() && {
    for (; at_ < words_.size(); ++at_) {
      if (words_[at_].starts_with('-') && words_[at_].size() > 1) {
        HEADROOM_CHECK(take_option(words_[at_]));
      } else {
        given_.plain.push_back(words_[at_]);
      }
    }
    return std::move(given_);
  }

 private:
  bool has_next() const { return at_ + 1 < words_.size(); }

  Result<Done> take_option(const std::string& word) {
    const std::size_t dashes = word.starts_with("--") ? 2 : 1;
    const std::size_t equals = table_.takes_equals ? word.find('=') : std::string::npos;
    const std::string spelled = word.substr(0, equals);
    const std::string name = with_dashes(std::string_view(spelled).substr(dashes));
    const Option* option = find_typed(table_, name, dashes == 1);
    if (option == nullptr) {
      given_.unread.push_back(spelled);
      const bool has_value = equals == std::string::npos && has_next() &&
                             !words_[at_ + 1].starts_with('-') && !is_plain_switch(name) &&
                             !holds_its_value(word);
      if (has_value) ++at_;
      return Done{};
    }
    GivenOption given{option, spelled, ""};
    if (equals != std::string::npos) {
      given.value = word.substr(equals + 1);
    } else if (has_next() && (!is_switch(*option) || is_switch_value(*option, words_[at_ + 1]))) {
      given.value = words_[++at_];
    } else if (!is_switch(*option)) {
      return wrong_option(table_, given, "a value");
    }
    given_.known.push_back(std::move(given));
    return Done{};
  }

  const std::vector<std::string>& words_;
  const OptionTable& table_;
  std::size_t at_ = 0;
  GivenOptions given_;
};

}  // namespace

Result<GivenOptions> split_options(const std::vector<std::string>& words,
                                   const OptionTable& table) {
  return Splitter(words, table).split();
}

Result<GivenOptions> split_options(const Json& engine, const OptionTable& table) {
  GivenOptions given;
  for (const auto& [key, value] : engine.items()) {
    if (key == "kind") continue;
    const Option* option = find_key(table, key);
    if (option == nullptr)
      return Error{Errc::invalid,
                   fmt::format("engine.{}: expected an option of {} by its long name, found one "
                               "that is not known",
                               key.substr(0, shown), table.program),
                   "the keys that are read are listed in docs/plan.md", "engine"};
    given.known.push_back({option, "engine." + key, to_word(value)});
  }
  return given;
}

Error wrong_option(const OptionTable& table, const GivenOption& given, std::string_view expected) {
  return {Errc::invalid,
          fmt::format("{}: expected {}, found {}", given.spelled, expected,
                      given.value.empty() ? "nothing"
                                          : fmt::format("\"{}\"", given.value.substr(0, shown))),
          fmt::format("write it as {} shows", table.help)};
}

std::optional<bool> parse_switch(std::string_view value) {
  const std::string word = to_lower(value);
  if (word.empty() || word == "true" || word == "1" || word == "on" || word == "enabled")
    return true;
  if (word == "false" || word == "0" || word == "off" || word == "disabled") return false;
  return std::nullopt;
}

bool is_automatic(std::string_view value) {
  return value == "auto" || value == "-1";
}

Result<std::uint64_t> number_of(const OptionTable& table, const GivenOption& given) {
  const auto number = parse_u64(given.value);
  if (!number || *number > given.option->most)
    return wrong_option(table, given, fmt::format("a whole number up to {}", given.option->most));
  return *number;
}

Result<bool> switch_of(const OptionTable& table, const GivenOption& given) {
  const auto said = parse_switch(given.value);
  if (!said) return wrong_option(table, given, "on or off");
  return *said == (given.option->kind != OptionKind::no);
}

}  // namespace headroom::estimate
