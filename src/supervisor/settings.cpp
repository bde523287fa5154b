// SPDX-License-Identifier: Apache-2.0
#include "supervisor/settings.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/text.h"

namespace headroom::supervisor {
namespace {

using Words = std::vector<std::string>;

constexpr const char* micro_placeholder = "{micro}";
constexpr const char* accumulate_placeholder = "{accumulate}";
constexpr const char* resume_placeholder = "{resume}";

bool appears(const Words& words, std::string_view text) {
  for (const std::string& word : words) {
    if (word.find(text) != std::string::npos) return true;
  }
  return false;
}

std::optional<std::uint64_t> to_setting(std::string_view text) {
  const auto number = parse_u64(trim(text));
  if (!number || *number < 1 || *number > largest_setting) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> value_in(const std::optional<FileValues>& file, const Words& names) {
  if (!file) return std::nullopt;
  for (const std::string& name : names) {
    const auto found = file->find(knowledge::file_key(name));
    if (found != file->end()) return to_setting(found->second);
  }
  return std::nullopt;
}

// At most largest_setting, so that the search ends after 65,536 steps.
std::uint64_t smallest_prime_factor(std::uint64_t number) {
  for (std::uint64_t factor = 2; factor * factor <= number; ++factor) {
    if (number % factor == 0) return factor;
  }
  return number;
}

Error no_value(const char* placeholder, const char* example) {
  return {
      Errc::invalid,
      fmt::format("expected a value in --settings for {}, which the command contains; found none",
                  placeholder),
      fmt::format("headroom run --settings {} -- CMD …", example)};
}

// One word of a command with its placeholders replaced, in one pass: what is filled in is not
// looked through again.
class Filling {
 public:
  Filling(const Settings& settings, bool resumes)
      : values_{{{micro_placeholder, number(settings.micro)},
                 {accumulate_placeholder, number(settings.accumulate)},
                 {resume_placeholder, resumes ? join(settings.resume, " ") : ""}}} {}

  std::string fill_in(const std::string& word) const {
    std::string filled;
    for (std::size_t at = 0; at < word.size();) {
      const Value* value = find_at(word, at);
      filled += value == nullptr ? std::string(1, word[at]) : value->text;
      at += value == nullptr ? 1 : value->placeholder.size();
    }
    return filled;
  }

 private:
  struct Value {
    std::string_view placeholder;
    std::string text;
  };

  static std::string number(const std::optional<std::uint64_t>& value) {
    return value ? std::to_string(*value) : "";
  }
  const Value* find_at(const std::string& word, std::size_t at) const {
    for (const Value& value : values_) {
      if (word.compare(at, value.placeholder.size(), value.placeholder) == 0) return &value;
    }
    return nullptr;
  }

  std::array<Value, 3> values_;
};

}  // namespace

std::optional<Settings> smaller(const Settings& settings, knowledge::Shrink shrink) {
  const std::uint64_t micro = settings.micro.value_or(0);
  if (micro < 2 || micro > largest_setting) return std::nullopt;
  Settings less = settings;
  if (shrink == knowledge::Shrink::half) {
    less.micro = micro / 2;
    return less;
  }
  const std::uint64_t factor = smallest_prime_factor(micro);
  less.micro = micro / factor;
  if (settings.accumulate) {
    if (*settings.accumulate > std::numeric_limits<std::uint64_t>::max() / factor) {
      return std::nullopt;
    }
    less.accumulate = *settings.accumulate * factor;
  }
  return less;
}

CommandTemplate::Slot CommandTemplate::make_slot(const std::string& placeholder, const Words& names,
                                                 bool may_add) const {
  Slot slot;
  slot.placeholder = appears(argv_, placeholder);
  if (!slot.placeholder && may_add && !names.empty()) slot.added = names.front();
  return slot;
}

void CommandTemplate::use_flags(const knowledge::RecognisedCommand& command,
                                const std::optional<FileValues>& file) {
  const knowledge::Trainer& trainer = *command.trainer;
  const auto find = [&](Slot& slot, const Words& names, Number otherwise) {
    if (slot.placeholder) return;
    slot.place = knowledge::find_flag(argv_, command.arguments, names);
    if (slot.place) {
      slot.says = to_setting(argv_[slot.place->word].substr(slot.place->begin));
      return;
    }
    slot.says = value_in(file, names);
    // What a file that nobody read says cannot be guessed, not even by the program's defaults.
    if (!slot.says && (file || !command.file)) slot.says = otherwise;
  };
  micro_ = make_slot(micro_placeholder, trainer.micro, trainer.appends_micro);
  accumulate_ = make_slot(accumulate_placeholder, trainer.accumulate, trainer.appends_accumulate);
  find(micro_, trainer.micro, trainer.default_micro);
  find(accumulate_, trainer.accumulate, trainer.default_accumulate);
  shrink_ = trainer.shrink;
  unit_ = trainer.unit;
  if (!knowledge::has_flag(argv_, command.arguments, trainer.resume)) {
    initial_.resume = trainer.resume_with;
  }
}

Status CommandTemplate::use_given(const Settings& given) {
  initial_.micro = given.micro ? given.micro : micro_.says;
  initial_.accumulate = given.accumulate ? given.accumulate : accumulate_.says;
  if (!given.resume.empty()) initial_.resume = given.resume;
  if (micro_.placeholder && !initial_.micro) return no_value(micro_placeholder, "micro=8");
  if (accumulate_.placeholder && !initial_.accumulate) initial_.accumulate = 1;
  return Done{};
}

Result<CommandTemplate> CommandTemplate::make(Words argv, const Settings& given,
                                              const knowledge::TrainerFlags& flags,
                                              const std::optional<FileValues>& file) {
  CommandTemplate made;
  made.argv_ = std::move(argv);
  made.micro_ = made.make_slot(micro_placeholder, {}, /*may_add=*/false);
  made.accumulate_ = made.make_slot(accumulate_placeholder, {}, /*may_add=*/false);
  made.resume_placeholder_ = appears(made.argv_, resume_placeholder);
  if (const auto command = knowledge::recognise(flags, made.argv_)) {
    made.use_flags(*command, file);
  }
  HEADROOM_CHECK(made.use_given(given));
  return made;
}

bool CommandTemplate::keeps_step() const {
  return shrink_ == knowledge::Shrink::divisor && accumulate_.is_taken() &&
         initial_.accumulate.has_value();
}

std::optional<Settings> CommandTemplate::smaller(const Settings& settings) const {
  // An accumulation that the command does not take cannot make up for anything. Where the command
  // takes neither, the settings are what its owner would have to change, and both change.
  if (!takes_micro() || accumulate_.is_taken()) return supervisor::smaller(settings, shrink_);
  Settings alone = settings;
  alone.accumulate.reset();
  auto less = supervisor::smaller(alone, shrink_);
  if (less) less->accumulate = settings.accumulate;
  return less;
}

// Before placeholders are filled in, while the words still stand where they were found.
void CommandTemplate::write(const Slot& slot, const Number& value, Words& words) {
  if (!slot.place || !value || value == slot.says) return;
  std::string& word = words[slot.place->word];
  word = word.substr(0, slot.place->begin) + std::to_string(*value);
}

void CommandTemplate::add(const Slot& slot, const Number& value, Words& words) {
  if (slot.placeholder || slot.place || slot.added.empty()) return;
  if (!value || value == slot.says) return;
  for (std::string& word : knowledge::flag_words(slot.added, std::to_string(*value))) {
    words.push_back(std::move(word));
  }
}

Words CommandTemplate::fill_in(const Settings& settings, bool resumes) const {
  Words words = argv_;
  write(micro_, settings.micro, words);
  write(accumulate_, settings.accumulate, words);
  const Filling filling(settings, resumes);
  const Words no_words;
  const Words& resume = resumes ? settings.resume : no_words;
  Words filled;
  for (const std::string& word : words) {
    if (word == resume_placeholder) {
      filled.insert(filled.end(), resume.begin(), resume.end());
    } else {
      filled.push_back(filling.fill_in(word));
    }
  }
  add(micro_, settings.micro, filled);
  add(accumulate_, settings.accumulate, filled);
  if (!resume_placeholder_) filled.insert(filled.end(), resume.begin(), resume.end());
  return filled;
}

}  // namespace headroom::supervisor
