// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/told_versions.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "findings/causes/told_lines.h"
#include "findings/causes/told_words.h"

namespace headroom::findings {
namespace {

using logs::Observation;
using Kind = WordKind;
using Word = ToldWord;
using Words = std::vector<Word>;

// The digits of "v6.3" and of "a20260608".
std::string_view bare(std::string_view version) {
  const bool is_marked = version.starts_with('v') || version.starts_with('V') ||
                         version.starts_with('a') || version.starts_with('A');
  return is_marked ? version.substr(1) : version;
}

bool is_date(std::string_view version) {
  return bare(version).starts_with("20") && bare(version).size() == 8;
}

// A build's number as llama.cpp counts them: "b4819".
bool is_build(std::string_view version) {
  return version.starts_with('b') || version.starts_with('B');
}

// Whether a number may be a version of the component: a kernel's is not a ROCm's.
bool fits(std::string_view version, Component about) {
  if (is_build(version)) return about == Component::program;
  if (is_date(version)) {
    return about == Component::firmware || about == Component::rocm || about == Component::torch;
  }
  if (version.starts_with("0x")) return about == Component::firmware;
  if (about == Component::firmware) return false;
  const auto major = parse_u64(split(bare(version), '.').front());
  if (!major) return false;
  if (about == Component::kernel) return *major >= 3 && *major <= 7;
  if (about == Component::rocm) return *major >= 1 && *major <= 10;
  if (about == Component::torch) return *major >= 1 && *major <= 2;
  return true;
}

void add(std::vector<std::string>& list, std::string_view version) {
  const std::string plain(bare(version));
  if (std::find(list.begin(), list.end(), plain) == list.end()) list.push_back(plain);
}

bool is_outcome(const Word& word) {
  return word.kind == Kind::good || word.kind == Kind::bad || word.kind == Kind::futile;
}

// A number that no release of ROCm had and one of Linux does, where nothing is named. Releases that
// begin with 0 are those of programs; nightly builds of ROCm are dated behind their release.
std::optional<Component> component_of(const Word& word) {
  if (word.kind != Kind::version) return std::nullopt;
  if (is_build(word.text)) return Component::program;
  if (is_date(word.text)) return word.text.size() == 8 ? Component::firmware : Component::rocm;
  const auto parts = split(bare(word.text), '.');
  const auto major = parse_u64(parts.front());
  const auto minor = parts.size() > 1 ? parse_u64(parts[1]) : std::nullopt;
  if (!major || !minor) return std::nullopt;
  if (*major == 0) return Component::program;
  if (word.text.find("dev20") != std::string::npos) return Component::torch;
  if (*major >= 3 && word.text.find("a20") != std::string::npos) return Component::rocm;
  const bool of_linux = (*major == 6 && *minor >= 5) || (*major == 5 && *minor >= 8);
  return of_linux ? std::optional(Component::kernel) : std::nullopt;
}

// Whether a small word that turns the sense stands before the word at `at`, with nothing between
// but what it is about.
bool stands_behind(const Words& words, std::size_t begin, std::size_t at, Kind small) {
  for (std::size_t i = at; i > begin; --i) {
    const Kind kind = words[i - 1].kind;
    if (kind == small) return true;
    const bool is_part = kind == Kind::component || kind == Kind::newer || kind == Kind::older ||
                         kind == Kind::forth || kind == Kind::version;
    if (!is_part) return false;
  }
  return false;
}

// "from 6.3 to 6.4", "6.3 -> 6.4": where the second version stands; 0 if there is no such pair.
std::size_t second_of_pair(const Words& words, std::size_t begin, std::size_t at, std::size_t end) {
  std::size_t i = at + 1;
  while (i < end && words[i].kind == Kind::component) ++i;
  if (i >= end || words[i].kind != Kind::to) return 0;
  const bool is_arrow = words[i].text.find_first_of("->=") != std::string::npos ||
                        static_cast<unsigned char>(words[i].text[0]) >= 0x80;
  for (++i; i < end && (words[i].kind == Kind::component || words[i].kind == Kind::newer);) ++i;
  if (i >= end || words[i].kind != Kind::version) return 0;
  const bool is_change = stands_behind(words, begin, at, Kind::from) ||
                         stands_behind(words, begin, at, Kind::forth) ||
                         stands_behind(words, begin, at, Kind::back);
  return is_arrow || is_change ? i : 0;
}

// Reads one line's words; what a sentence is about carries over to the next one.
class Reader {
 public:
  // `named` holds the components that are named anywhere.
  Reader(Component about, const logs::Observations& log, const std::set<Component>& named,
         ToldVersions& told)
      : about_(about), outcomes_(log.of("outcome-told")), is_default_(named.empty()), told_(told) {
    // Numbers alone are releases of ROCm, which these logs are about.
    if (named.empty()) only_ = Component::rocm;
    if (named.size() == 1) only_ = *named.begin();
  }

  void read(const Observation& line, const Words& words) {
    line_ = &line;
    const bool before = has_story();
    std::size_t begin = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].kind != Kind::stop) continue;
      sentence(words, begin, i);
      begin = i + 1;
    }
    if (!before && has_story()) told_.told = &line;
  }

 private:
  bool has_story() const {
    return told_.going_back_helps || told_.newer_helps || told_.newer_breaks ||
           !told_.works.empty() || !told_.fails.empty();
  }

  // The component that the word at `at` belongs to: the last one named before it, in this sentence
  // or the one before, else the next one behind it, else the only one that is named at all.
  std::optional<Component> subject_of(const Words& words, std::size_t begin, std::size_t at,
                                      std::size_t end) const {
    if (words[at].kind == Kind::version && is_build(words[at].text)) return Component::program;
    for (std::size_t i = at; i > begin; --i) {
      if (words[i - 1].kind == Kind::component) return words[i - 1].component;
    }
    for (std::size_t i = at; i < end; ++i) {
      if (words[i].kind == Kind::component) return words[i].component;
    }
    const auto own = component_of(words[at]);
    // No driver, kernel or ROCm had a release 0.
    if (own == Component::program && last_ == Component::driver) return own;
    if (own && (!last_ || last_ == Component::rocm)) return own;
    if (last_) return last_;
    return is_default_ && words[at].kind != Kind::version ? std::nullopt : only_;
  }

  // The outcome that is told of the version at `at`. Where its part of the sentence begins with an
  // outcome ("works with 6.2"), it is the last one before it; else the next one behind it ("6.2
  // works"). A part without any has that of the next part, if that names no version ("6.2 and 6.3,
  // both work"), or of the part before ("fails with 6.2, 6.3").
  static std::optional<bool> outcome_of(const Words& words, std::size_t begin, std::size_t at,
                                        std::size_t end) {
    std::size_t from = at, to = at;
    while (from > begin && words[from - 1].kind != Kind::pause) --from;
    while (to < end && words[to].kind != Kind::pause) ++to;
    const auto last = last_outcome(words, from, at);
    std::size_t first = from;
    while (first < at && words[first].kind != Kind::version && !is_outcome(words[first])) ++first;
    if (first < at && is_outcome(words[first])) return last;
    if (const auto next = next_outcome(words, at, to)) return next;
    if (last) return last;
    if (const auto behind = next_outcome(words, to, end)) return behind;
    return last_outcome(words, begin, from);
  }

  static std::optional<bool> last_outcome(const Words& words, std::size_t from, std::size_t to) {
    for (std::size_t i = to; i > from; --i) {
      if (is_outcome(words[i - 1])) return words[i - 1].kind == Kind::good;
    }
    return std::nullopt;
  }

  // Up to the next version; versions that are listed with the one at `at` share its outcome.
  static std::optional<bool> next_outcome(const Words& words, std::size_t at, std::size_t to) {
    bool is_listed = words[at].kind == Kind::version;
    for (std::size_t i = at + 1; i < to; ++i) {
      if (is_outcome(words[i])) return words[i].kind == Kind::good;
      if (words[i].kind == Kind::version && !is_listed) break;
      const bool joins = words[i].kind == Kind::version || words[i].kind == Kind::to ||
                         words[i].kind == Kind::component;
      is_listed = is_listed && joins;
    }
    return std::nullopt;
  }

  // What came of a change: the next outcome behind it in the sentence, else the last one before it
  // in its part. Nothing came of one that changed nothing.
  static const Word* outcome_of_step(const Words& words, std::size_t begin, std::size_t at,
                                     std::size_t end) {
    for (std::size_t i = at + 1; i < end; ++i) {
      if (is_outcome(words[i])) return &words[i];
    }
    for (std::size_t i = at; i > begin && words[i - 1].kind != Kind::pause; --i) {
      if (is_outcome(words[i - 1])) return &words[i - 1];
    }
    return nullptr;
  }

  // A change may be told in one sentence and what came of it in the next.
  // "Many thanks, that worked." may stand on one of the next lines.
  std::optional<bool> outcome_of_change(const Words& words, std::size_t begin, std::size_t at,
                                        std::size_t end) const {
    if (const Word* here = outcome_of_step(words, begin, at, end)) {
      return here->kind == Kind::futile ? std::nullopt : std::optional(here->kind == Kind::good);
    }
    const bool is_adjective = words[at].kind == Kind::newer || words[at].kind == Kind::older;
    if (is_adjective) return std::nullopt;
    for (std::size_t i = end + 1; i < words.size() && words[i].kind != Kind::stop; ++i) {
      if (is_outcome(words[i])) return words[i].kind == Kind::good;
    }
    constexpr std::uint64_t near = 8;  // A list of builds may stand between.
    for (const Observation* one : outcomes_) {
      const bool follows = one->log == line_->log && one->line > line_->line;
      if (follows && one->line - line_->line <= near) return true;
    }
    return std::nullopt;
  }

  void take_version(const Word& word, bool works) {
    if (fits(word.text, about_)) add(works ? told_.works : told_.fails, word.text);
  }

  void take_change(const Words& words, std::size_t begin, std::size_t at, std::size_t end) {
    auto good = outcome_of_change(words, begin, at, end);
    const Kind kind = words[at].kind;
    const bool back = kind == Kind::back || kind == Kind::older;
    if (!back && stands_behind(words, begin, at, Kind::since)) good = good.value_or(false);
    if (!good) return;
    if (stands_behind(words, begin, at, Kind::before)) good = !*good;
    if (back && *good) told_.going_back_helps = true;
    if (!back && *good) told_.newer_helps = true;
    if (!*good && (kind == Kind::forth || tells_of_a_break(words, begin, at, end))) {
      told_.newer_breaks = true;
    }
  }

  // "Went to the next menu" is no change of a release: what ends in "to" has to name one.
  static bool names_a_release(const Words& words, std::size_t at, std::size_t end) {
    if (!words[at].text.ends_with(" to")) return true;
    for (std::size_t i = at + 1; i < end; ++i) {
      const Kind kind = words[i].kind;
      if (kind == Kind::component || kind == Kind::version || kind == Kind::newer ||
          kind == Kind::older) {
        return true;
      }
      if (is_outcome(words[i]) || kind == Kind::pause) return false;
    }
    return false;
  }

  // What is installed beside a job is no other release of it, unless that cured the failure.
  bool is_added(const Words& words, std::size_t at, std::size_t end) const {
    static const RE2 cure(R"((?i)gone|away|fix|solv|disappear|vanish|cure|trick|rid of|stop)");
    if (words[at].kind != Kind::added) return false;
    if (about_ == Component::kernel || about_ == Component::firmware) return true;
    for (std::size_t i = at; i < end; ++i) {
      if (words[i].kind == Kind::good && RE2::PartialMatch(words[i].text, cure)) return true;
    }
    return false;
  }

  // Whether something new is said to have broken it: "the newest commit breaks it".
  static bool tells_of_a_break(const Words& words, std::size_t begin, std::size_t at,
                               std::size_t end) {
    if (words[at].kind != Kind::newer) return false;
    for (std::size_t i = begin; i < end; ++i) {
      const std::string text = to_lower(words[i].text);
      const bool breaks = text.starts_with("break") || text.starts_with("broke");
      if (words[i].kind == Kind::bad && (breaks || text.starts_with("regress"))) return true;
    }
    return false;
  }

  // "It broke when going from A to B", "the regression between A and B", "A -> B cured it".
  void take_pair(const Words& words, std::size_t begin, std::size_t at, std::size_t second,
                 std::size_t end) {
    const auto good = outcome_of_change(words, begin, at, end);
    if (!good) return;
    take_version(words[at], !*good);
    take_version(words[second], *good);
  }

  void take_single(const Words& words, std::size_t begin, std::size_t at, std::size_t end) {
    auto good = outcome_of(words, begin, at, end);
    if (!good && says_too(words, begin, end)) good = last_outcome_;
    if (good && stands_behind(words, begin, at, Kind::before)) good = !*good;
    if (stands_behind(words, begin, at, Kind::since) && !good.value_or(false)) {
      good = false;
      told_.newer_breaks |= fits(words[at].text, about_);
    }
    if (good) take_version(words[at], *good);
  }

  void sentence(const Words& words, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Kind kind = words[i].kind;
      if (kind == Kind::version) {
        if (subject_of(words, begin, i, end) != about_) continue;
        const std::size_t second = second_of_pair(words, begin, i, end);
        if (second == 0) {
          take_single(words, begin, i, end);
        } else {
          take_pair(words, begin, i, second, end);
          i = second;
        }
      } else if (kind == Kind::back || is_added(words, i, end) ||
                 (kind == Kind::forth && names_a_release(words, i, end))) {
        if (subject_of(words, i, i, end) == about_ || names_alone(words, begin, end)) {
          take_change(words, begin, i, end);
        }
      } else if (kind == Kind::older || kind == Kind::newer) {
        if (is_its(words, begin, i, end)) take_change(words, begin, i, end);
      }
    }
    for (std::size_t i = begin; i < end; ++i) {
      told_.used_to_work |= words[i].kind == Kind::once;
      if (words[i].kind == Kind::component) last_ = words[i].component;
      if (is_outcome(words[i])) last_outcome_ = words[i].kind == Kind::good;
    }
  }

  // "The older firmware works", "llama.cpp from two weeks ago", "the version before".
  bool is_its(const Words& words, std::size_t begin, std::size_t at, std::size_t end) const {
    const auto is_about = [&](const Word& word) {
      return word.kind == Kind::component && word.component == about_;
    };
    if (at + 1 < end && words[at + 1].kind == Kind::component) return is_about(words[at + 1]);
    if (words[at].text.find(' ') == std::string::npos) return false;
    if (at > begin && words[at - 1].kind == Kind::component) return is_about(words[at - 1]);
    return last_ == about_;
  }

  // "On 22.04 with 6.8 too": the outcome is that of the sentence before.
  static bool says_too(const Words& words, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (words[i].kind == Kind::too) return true;
    }
    return false;
  }

  // Whether the sentence names this component and no other.
  bool names_alone(const Words& words, std::size_t begin, std::size_t end) const {
    bool named = false;
    for (std::size_t i = begin; i < end; ++i) {
      if (words[i].kind != Kind::component) continue;
      if (words[i].component != about_) return false;
      named = true;
    }
    return named;
  }

  Component about_;
  std::vector<const Observation*> outcomes_;
  bool is_default_ = false;
  std::optional<Component> only_;
  const Observation* line_ = nullptr;
  ToldVersions& told_;
  std::optional<Component> last_;
  std::optional<bool> last_outcome_;
};

}  // namespace

bool ToldVersions::is_comparison() const {
  return std::any_of(works.begin(), works.end(), [&](const std::string& one) {
    return std::any_of(fails.begin(), fails.end(), [&](const std::string& other) {
      return !one.starts_with(other) && !other.starts_with(one);
    });
  });
}

ToldVersions told_versions(const logs::Observations& log, Component about) {
  const auto lines = told_lines_of_versions(log);
  std::vector<Words> words;
  std::set<Component> named;
  for (const Observation* line : lines) {
    words.push_back(told_words(line->text));
    for (const Word& word : words.back()) {
      if (word.kind == Kind::component) named.insert(word.component);
    }
  }
  ToldVersions told;
  Reader reader(about, log, named, told);
  for (std::size_t i = 0; i < lines.size(); ++i) reader.read(*lines[i], words[i]);
  return told;
}

}  // namespace headroom::findings
