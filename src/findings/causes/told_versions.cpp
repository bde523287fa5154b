// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/told_versions.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "findings/causes/outcome_words.h"

namespace headroom::findings {
namespace {

using logs::Observation;

enum class Kind { component, version, good, bad, too, back, forth, newer, older, pause, stop };

struct Word {
  Kind kind = Kind::stop;
  Component component = Component::rocm;
  std::string text;
};

struct Pattern {
  Kind kind;
  Component component;
  const char* text;
};

// Where two of these begin at one place, the one that stands first here is taken.
constexpr std::array patterns = {
    Pattern{Kind::good, Component::rocm, denied_trouble},
    Pattern{Kind::bad, Component::rocm, trouble},
    Pattern{Kind::good, Component::rocm, success},
    Pattern{Kind::too, Component::rocm, R"(\b(?:too|as well|likewise)\b)"},
    Pattern{
        Kind::back, Component::rocm,
        R"(\bdowngrad\w*|\brevert\w*|\broll(?:ed|ing|s)?[ -]?back\b|\b(?:went|going|go|goes|switch(?:ed|ing)?|moved?|moving|stepp?(?:ed|ing)?) back\b|\bpinn(?:ed|ing)\b)"},
    Pattern{
        Kind::forth, Component::rocm,
        R"(\bupgrad\w*|\bupdat(?:e|es|ed|ing)\b|\bbump(?:ed|ing)?\b|\b(?:switch(?:ed|ing)?|mov(?:ed|ing)|went|jump(?:ed)?|chang(?:ed|ing)) to\b|\bmigrat\w*|\b(?:going|went|goes) from\b|\bpulled\b)"},
    Pattern{Kind::newer, Component::rocm, R"(\b(?:newer|newest|latest|later|new)\b)"},
    Pattern{Kind::older, Component::rocm, R"(\b(?:older|previous|previously|earlier|prior|old)\b)"},
    Pattern{Kind::component, Component::firmware,
            R"((?:linux-|amd-gpu-)?\bfirmware(?:-amdgpu|-amd-graphics)?\b)"},
    Pattern{
        Kind::component, Component::rocm,
        R"(\brocm(?:sdk)?(?:-\w+)?|\bhip(?: ?sdk)?\b|\btherock\b|\bclr\b|\blibamdhip64\b|\b(?:lib)?(?:rocblas|hipblaslt|miopen|rocr|comgr)\b)"},
    Pattern{Kind::component, Component::torch,
            R"(\b(?:py)?torch\b|\bnightl(?:y|ies)\b|\btriton\b)"},
    Pattern{Kind::component, Component::kernel, R"(\blinux\b|\bkernels?\b)"},
    Pattern{Kind::component, Component::driver, R"(\badrenalin\b|\bdrivers?\b)"},
    Pattern{
        Kind::component, Component::program,
        R"(\b(?:ollama|vllm|sglang|llama\.?cpp|koboldcpp|comfyui|invokeai|localai|lm ?studio|onnxruntime|migraphx|ctranslate2|whisper\.cpp|immich|frigate|transformers|diffusers|sd\.?next)\b)"},
    Pattern{
        Kind::version, Component::rocm,
        R"(\bv?\d{1,2}\.(?:\d{1,3}|x\b)(?:\.\d+)*(?:[-.]?(?:rc|a|b|dev)\d+)?(?:[-.]\d+)?|\b20\d{6}\b|\b0x[0-9a-f]{2,8}\b)"},
    Pattern{Kind::stop, Component::rocm, R"([.;!?](?:\s|$)|[—|])"},
    Pattern{Kind::pause, Component::rocm,
            R"(\b(?:but|however|while|whereas|although|though|now)\b|[,()](?:\s|$)| -+ )"},
};

// One expression with a group for each pattern.
const RE2& any_word() {
  static const RE2 all = [] {
    std::string text = "(?i)";
    for (const Pattern& one : patterns) {
      text += (text.size() > 4 ? "|(" : "(") + std::string(one.text) + ")";
    }
    return RE2(text);
  }();
  return all;
}

std::vector<Word> words_of(std::string_view text) {
  static_assert(patterns.size() < 32);
  std::vector<Word> words;
  std::array<re2::StringPiece, patterns.size() + 1> groups;
  const RE2& word = any_word();
  std::size_t from = 0;
  const re2::StringPiece whole(text.data(), text.size());
  while (word.Match(whole, from, whole.size(), RE2::UNANCHORED, groups.data(),
                    static_cast<int>(groups.size()))) {
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (groups[i + 1].data() == nullptr) continue;
      words.push_back({patterns[i].kind, patterns[i].component,
                       std::string(groups[i + 1].data(), groups[i + 1].size())});
      break;
    }
    const auto end = static_cast<std::size_t>(groups[0].data() - whole.data()) + groups[0].size();
    from = std::max(end, from + 1);
  }
  words.push_back({});
  return words;
}

// Whether a number may be a version of the component: a kernel's is not a ROCm's.
bool fits(std::string_view version, Component about) {
  const bool is_date = version.starts_with("20") && version.size() == 8;
  const bool is_hex = version.starts_with("0x");
  if (about == Component::firmware) return is_date || is_hex;
  if (is_date || is_hex) return false;
  const std::string_view digits = version.starts_with('v') ? version.substr(1) : version;
  const auto major = parse_u64(split(digits, '.').front());
  if (!major) return false;
  if (about == Component::kernel) return *major >= 3 && *major <= 7;
  if (about == Component::rocm) return *major >= 1 && *major <= 10;
  if (about == Component::torch) return *major >= 1 && *major <= 2;
  return true;
}

void add(std::vector<std::string>& list, std::string_view version) {
  const std::string plain(version.starts_with('v') || version.starts_with('V') ? version.substr(1)
                                                                               : version);
  if (std::find(list.begin(), list.end(), plain) == list.end()) list.push_back(plain);
}

bool is_outcome(const Word& word) {
  return word.kind == Kind::good || word.kind == Kind::bad;
}

// Names glued to their release are taken apart: "rocm6.3" of an image's tag is "rocm 6.3", and
// "rocm7" or "ROCm 7" any 7.x; a wheel's "+rocm6.3" and an index's "whl/rocm6.3" only name a file.
// The "-rocm" behind a program's release names a build of that release, not ROCm's own.
std::string separate_releases(std::string_view line) {
  static const RE2 build(R"((?i)(\d\.\d[\w.]*)-rocm\b)");
  static const RE2 glued(R"((?i)(^|[^\w+/.=-])rocm[-_ ]?v?(\d))");
  static const RE2 major_alone(R"((?i)\b(rocm \d{1,2})([^\d.]|\.(?:\s|$)|$))");
  std::string text(line);
  RE2::GlobalReplace(&text, build, "\\1");
  RE2::GlobalReplace(&text, glued, "\\1rocm \\2");
  RE2::GlobalReplace(&text, major_alone, "\\1.x\\2");
  return text;
}

// Leaves out the question that a line ends in: who asks claims nothing.
std::string_view without_question(std::string_view line) {
  if (!trim(line).ends_with('?')) return line;
  const std::size_t end = line.rfind(". ");
  return end == std::string_view::npos ? std::string_view() : line.substr(0, end + 1);
}

// Reads one line's words; what a sentence is about carries over to the next one.
class Reader {
 public:
  Reader(Component about, const logs::Observations& log, ToldVersions& told)
      : about_(about), outcomes_(log.of("outcome-told")), told_(told) {}

  void read(const Observation& line) {
    line_ = &line;
    const std::vector<Word> words = words_of(separate_releases(without_question(line.text)));
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
  // or the one before, else the next one behind it.
  std::optional<Component> subject_of(const std::vector<Word>& words, std::size_t begin,
                                      std::size_t at, std::size_t end) const {
    for (std::size_t i = at; i > begin; --i) {
      if (words[i - 1].kind == Kind::component) return words[i - 1].component;
    }
    for (std::size_t i = at; i < end; ++i) {
      if (words[i].kind == Kind::component) return words[i].component;
    }
    const auto own = component_of(words[at]);
    return !last_ || (own && last_ == Component::rocm) ? own : last_;
  }

  // A number that no release of ROCm had and one of Linux does, where nothing is named. Releases
  // that begin with 0 are those of programs.
  static std::optional<Component> component_of(const Word& word) {
    if (word.kind != Kind::version) return std::nullopt;
    if (word.text.size() == 8 && word.text.starts_with("20")) return Component::firmware;
    const auto parts = split(word.text.substr(word.text.starts_with('v') ? 1 : 0), '.');
    const auto major = parse_u64(parts.front());
    const auto minor = parts.size() > 1 ? parse_u64(parts[1]) : std::nullopt;
    if (!major || !minor) return std::nullopt;
    if (*major == 0) return Component::program;
    const bool of_linux = (*major == 6 && *minor >= 5) || (*major == 5 && *minor >= 8);
    return of_linux ? std::optional(Component::kernel) : std::nullopt;
  }

  // The outcome that is told of the word at `at`: the next one behind it, up to the next version or
  // change of another kind; else the last one before it in its part of the sentence.
  static std::optional<bool> outcome_of(const std::vector<Word>& words, std::size_t begin,
                                        std::size_t at, std::size_t end) {
    for (std::size_t i = at + 1; i < end; ++i) {
      if (is_outcome(words[i])) return words[i].kind == Kind::good;
      if (words[at].kind == Kind::version && words[i].kind == Kind::version && i > at + 1) break;
    }
    for (std::size_t i = at; i > begin; --i) {
      if (words[i - 1].kind == Kind::pause) break;
      if (is_outcome(words[i - 1])) return words[i - 1].kind == Kind::good;
    }
    return std::nullopt;
  }

  // A change may be told in one sentence and what came of it in the next.
  // "Many thanks, that worked." may stand on one of the next lines.
  std::optional<bool> outcome_of_change(const std::vector<Word>& words, std::size_t begin,
                                        std::size_t at, std::size_t end) const {
    if (const auto here = outcome_of(words, begin, at, end)) return here;
    for (std::size_t i = end + 1; i < words.size() && words[i].kind != Kind::stop; ++i) {
      if (is_outcome(words[i])) return words[i].kind == Kind::good;
    }
    constexpr std::uint64_t near = 5;
    for (const Observation* one : outcomes_) {
      const bool follows = one->log == line_->log && one->line > line_->line;
      if (follows && one->line - line_->line <= near) return true;
    }
    return std::nullopt;
  }

  void take_version(const Word& word, bool works) {
    if (fits(word.text, about_)) add(works ? told_.works : told_.fails, word.text);
  }

  void take_change(const std::vector<Word>& words, std::size_t begin, std::size_t at,
                   std::size_t end) {
    const auto good = outcome_of_change(words, begin, at, end);
    if (!good) return;
    const bool back = words[at].kind == Kind::back || words[at].kind == Kind::older;
    if (back && *good) told_.going_back_helps = true;
    if (!back && *good) told_.newer_helps = true;
    if (words[at].kind == Kind::forth && !*good) told_.newer_breaks = true;
  }

  void sentence(const std::vector<Word>& words, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Kind kind = words[i].kind;
      if (kind == Kind::version) {
        auto good = outcome_of(words, begin, i, end);
        if (!good && says_too(words, begin, end)) good = last_outcome_;
        if (good && subject_of(words, begin, i, end) == about_) take_version(words[i], *good);
      } else if (kind == Kind::back || kind == Kind::forth) {
        if (subject_of(words, i, i, end) == about_ || names_alone(words, begin, end)) {
          take_change(words, begin, i, end);
        }
      } else if (kind == Kind::older || kind == Kind::newer) {
        // "the older firmware works": the adjective stands right before what it is about.
        const bool its =
            i + 1 < end && words[i + 1].kind == Kind::component && words[i + 1].component == about_;
        if (its) take_change(words, begin, i, end);
      }
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (words[i].kind == Kind::component) last_ = words[i].component;
      if (is_outcome(words[i])) last_outcome_ = words[i].kind == Kind::good;
    }
  }

  // "On 22.04 with 6.8 too": the outcome is that of the sentence before.
  static bool says_too(const std::vector<Word>& words, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (words[i].kind == Kind::too) return true;
    }
    return false;
  }

  // Whether the sentence names this component and no other.
  bool names_alone(const std::vector<Word>& words, std::size_t begin, std::size_t end) const {
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
  ToldVersions told;
  Reader reader(about, log, told);
  for (const Observation* line : log.of("told-outcome")) reader.read(*line);
  return told;
}

}  // namespace headroom::findings
