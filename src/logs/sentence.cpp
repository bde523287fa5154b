// SPDX-License-Identifier: Apache-2.0
#include "logs/sentence.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/text.h"

namespace headroom::logs {
namespace {

constexpr std::array<std::string_view, 43> joints = {
    "the", "a",   "an",   "is",   "are",  "was",  "my",   "i",    "it",   "and",   "to",
    "of",  "in",  "on",   "when", "but",  "that", "for",  "with", "this", "after", "if",
    "as",  "has", "have", "be",   "been", "does", "do",   "not",  "or",   "so",    "at",
    "by",  "we",  "you",  "from", "then", "than", "only", "no",   "can",  "cannot"};
constexpr std::size_t longest_joint = 6;

constexpr std::array<std::string_view, 8> levels = {"INFO",  "WARNING", "WARN",     "ERROR",
                                                    "DEBUG", "FATAL",   "CRITICAL", "TRACE"};

// Whether it is one of the words that join others.
bool is_joint(std::string_view word) {
  if (word.size() > longest_joint) return false;
  std::array<char, longest_joint> lower{};
  std::transform(word.begin(), word.end(), lower.begin(), [](char letter) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  });
  const std::string_view asked(lower.data(), word.size());
  return std::find(joints.begin(), joints.end(), asked) != joints.end();
}

// Whether a program's line begins so: with a time, a level, a place in brackets, an exception.
bool is_printed(std::string_view word) {
  const bool is_time = word.front() >= '0' && word.front() <= '9' &&
                       word.find_first_of(":/") != std::string_view::npos;
  const std::string_view label = word.substr(0, word.find(':'));
  // The kernel's drivers.
  const bool is_driver = word == "kfd:" || word == "amdgpu:" || word == "drm:";
  const bool is_level = is_driver || std::find(levels.begin(), levels.end(), label) != levels.end();
  const bool is_raised =
      word.ends_with(':') && (word.find_first_of("[:0123456789") + 1 < word.size() ||
                              word.ends_with("Error:") || word.ends_with("Warning:"));
  return is_time || is_level || is_raised || word.front() == '[' ||
         word.find('=') != std::string_view::npos;
}

}  // namespace

const knowledge::Signature& sentence_signature() {
  static const knowledge::Signature signature = [] {
    knowledge::Signature made;
    made.id = "sentence";
    made.role = knowledge::Role::fact;
    made.says = "a person tells something";
    return made;
  }();
  return signature;
}

bool is_sentence(std::string_view line) {
  constexpr std::size_t least_words = 5, least_joints = 2;
  const auto words = split_words(line);
  if (words.size() < least_words || is_printed(words[0]) || is_printed(words[1])) return false;
  // In lists people leave the words out that join others; "- GPU: …" states a fact.
  const bool is_item = line.starts_with("- ") || line.starts_with("* ");
  const bool is_fact = words[1].ends_with(':') || words[2].ends_with(':');
  if (is_item) return !is_fact;
  const auto joined = static_cast<std::size_t>(std::count_if(words.begin(), words.end(), is_joint));
  // A heading is short: "Same test on ROCm 7.2".
  constexpr std::size_t most_words_of_heading = 9;
  const bool is_heading = words.size() <= most_words_of_heading && joined >= 1 &&
                          line.find_first_of("=[]{}/:<>|") == std::string_view::npos;
  // Of a program's line most words are names and figures.
  return is_heading || (joined >= least_joints && joined * 8 >= words.size());
}

}  // namespace headroom::logs
