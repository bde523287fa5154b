// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/told_remedies.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "findings/causes/contradiction.h"
#include "findings/causes/outcome_words.h"
#include "findings/causes/recovery.h"
#include "findings/causes/told_lines.h"
#include "findings/causes/told_topics.h"
#include "logs/sentence.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// A setting or a step, and the causes that it is against where it is taken, or where it is left
// out. "" where it says nothing.
struct Tried {
  const char* pattern;
  std::string_view against;        // Set, added or done.
  std::string_view left_out = {};  // Unset, removed or switched off.
  // Of one that others share, the subject that has to be spoken of (data/subjects.toml).
  std::string_view only_with = {};
};

// Which cause a step removes is what its documentation says that it does: rocm.docs.amd.com and
// docs.kernel.org for the variables and parameters, docs.docker.com and podman's for the options.
constexpr std::array steps = {
    Tried{R"(\bHSA_OVERRIDE_GFX_VERSION)", "gfx-target-missing", "gfx-override-wrong"},
    Tried{R"(\boverride\b)", "", "gfx-override-wrong"},
    Tried{R"(\b(?:HIP|ROCR|CUDA|GGML_VK)_VISIBLE_DEVICES)", "igpu-selected", "device-index",
          "igpu"},
    Tried{R"(\b(?:igpu|integrated (?:gpu|graphics|radeon)|on-?board graphics)\b)", "",
          "igpu-selected"},
    Tried{
        R"(\b(?:NCCL_P2P_DISABLE|RCCL_P2P_DISABLE|(?:iommu|amd_iommu|intel_iommu)=(?:pt|off)|disable[-_]custom[-_]all[-_]reduce|HSA_FORCE_FINE_GRAIN_PCIE)\b)",
        "rccl-p2p"},
    Tried{R"(\b(?:IOMMU|ACS|peer[- ]to[- ]peer|p2p)\b)", "", "rccl-p2p"},
    Tried{R"(\bexpandable_segments\b|\bPYTORCH_(?:HIP_|CUDA_)?ALLOC_CONF\b)", "fragmentation",
          "unsupported-option"},
    Tried{
        R"(\b(?:VLLM_ROCM_USE_\w+|SGLANG_USE_AITER|AITER|hipBLASLt|TORCH_BLAS_PREFER_HIPBLASLT|ROCBLAS_USE_HIPBLASLT|flash[-_ ]?attention|flash[-_]attn|sage[-_ ]?attention|xformers|torch\.compile|TunableOp|PYTORCH_TUNABLEOP_ENABLED)\b)",
        "", "unsupported-option"},
    Tried{R"((?:^|\s)[`'"]?-fa\b)", "", "unsupported-option"},
    Tried{R"(\bDISABLE_ADDMM_(?:HIP|CUDA)_LT\b)", "unsupported-option"},
    Tried{R"(\b(?:amdgpu\.)?(?:cwsr_enable|mes)=0)", "firmware-bad"},
    Tried{R"(\b(?:amd)?ttm\.pages_limit\b|\bpages_limit\b)", "ttm-cap"},
    Tried{R"(\bgttsize\b)", "ttm-cap", "gttsize-cap"},
    Tried{
        R"(--privileged\b|--group-add\b|\bkeep-groups\b|seccomp[=:]unconfined|label[=:]disable|\bsetenforce\b|\bchmod (?:\S+ )?\S*/dev/(?:kfd|dri)|\busermod\b|\b(?:render|video)[`'"]? (?:and \S+ )?groups?\b|\bgroups? [`'"]?(?:render|video)\b)",
        "device-permission"},
    Tried{R"(\bSELinux\b|\bAppArmor\b)", "", "device-permission"},
    Tried{R"(--device[= ]\S*/dev/kfd\S*)", "kfd-not-passed"},
    Tried{R"(\bpci=realloc\w*|\babove[- ]4g\b|\bresizable bar\b|\bre-?bar\b)", "bar-too-small"},
    Tried{R"(\bsecure ?boot\b)", "", "driver-not-loaded"},
    Tried{R"(\bmodprobe amdgpu\b|\blinux-modules-extra\S*)", "driver-not-loaded"},
    Tried{
        R"(\bLD_LIBRARY_PATH\b|\bLD_PRELOAD=\S*(?:hsa|hip|roc)\S*|\bldconfig\b|\bsym-?link\w*|\bln -s\w*)",
        "missing-library", "rocm-version-mismatch"},
    Tried{R"(\bMIOPEN_(?:USER_DB_PATH|CUSTOM_CACHE_DIR|DISABLE_CACHE)\b)", "miopen-db"},
    Tried{R"(\S*\.(?:cache|config)/miopen\S*)", "", "miopen-db"},
    Tried{R"(\b(?:GGML_CUDA_ENABLE_UNIFIED_MEMORY|HSA_XNACK|xnack)\b)", "", "managed-memory"},
    Tried{R"(\b(?:carve-?out|UMA (?:frame ?buffer|size|buffer)|dedicated (?:video )?memory)\b)",
          "uma-carveout-small"},
    Tried{R"(\b(?:mem_limit|MemoryMax|--memory|memory limit)\b)", "cgroup-memory-limit",
          "cgroup-memory-limit"},
    Tried{R"(--index-url \S*rocm\S*|\bROCm (?:wheels?|build of (?:py)?torch)\b)", "wrong-wheel"},
    Tried{R"(\btorchao\b)", "", "torchao-incompatible"},
    Tried{R"(\bbitsandbytes\b)", "", "bitsandbytes-no-rocm"},
    Tried{R"(\bHSA_ENABLE_DXG_DETECTION\b)", "host-without-kfd"},
    // Any other variable: where it works without it, or with it switched off, it was the reason.
    Tried{
        R"(\b(?:HSA|HIP|ROCR|ROCM|AMD|GPU|NCCL|RCCL|TORCH|PYTORCH|VLLM|SGLANG|AITER|GGML|OLLAMA|MIOPEN|TRITON|TF|XLA|JAX)(?:_[A-Z0-9]+)+)",
        "", "unsupported-option"},
};

enum class Kind { step, with, without, only, culprit, good, bad, stop };

struct Word {
  Kind kind = Kind::stop;
  std::size_t step = 0;
  std::string text;
};

// Between the steps and the outcomes; the first that fits at a place is taken.
constexpr std::array others = {
    std::pair{Kind::good, denied_trouble},
    std::pair{
        Kind::culprit,
        R"(\b(?:was|is|were|being|be) (?:indeed |really |actually )?(?:the (?:culprit|problem|cause|reason)|to blame)\b|\b(?:is|was) what (?:breaks|broke|kills|killed)\b|\b(?:left|still set) (?:over )?(?:in|from)\b)"},
    std::pair{
        Kind::without,
        R"((?:\bwithout\b|\benv -u\b|\bhid(?:e|es|den|ing)\b|\bunset(?:ting)?\b|\bremov(?:e|es|ed|ing)\b|\bdisabl(?:e|es|ed|ing)\b|\bdropp?(?:ed|ing)?\b|\bleav(?:e|ing) out\b|\bleft out\b|\b(?:turn|switch)(?:ed|ing)? off\b|\boff\b|\bdelet(?:e|ed|ing)\b|\buninstall(?:ed|ing)?\b|\bnot (?:set|given|passed)\b|\binstead of\b)(?: (?:it|that|this|them)\b)?)"},
    std::pair{Kind::only, R"(\bonly (?:\w+ )?(?:with|when|if|under)\b)"},
    std::pair{
        Kind::with,
        R"((?:\bwith\b|\bgiv(?:en|ing)\b|\bset(?:ting)?\b|\badd(?:ed|ing)?\b|\bexport(?:ed|ing)?\b|\benabl(?:e|es|ed|ing)\b|\bpass(?:ed|ing)\b|\bus(?:e|ed|ing)\b|\bafter\b|\b(?:turn|switch)(?:ed|ing)? on\b|\brais(?:e|ed|ing)\b|\bincreas(?:e|ed|ing)\b)(?: (?:it|that|this|them)\b)?)"},
    std::pair{Kind::bad, futile},
    std::pair{Kind::bad, R"(\b(?:does|did|will|would)(?:n['’]?t| not)(?:[.,;:)]|\s*$))"},
    std::pair{Kind::bad, trouble},
    std::pair{Kind::good, success},
    std::pair{Kind::stop, R"([.;!?](?:\s|$)|[—|]|\b(?:but|however|while|whereas|although)\b| -+ )"},
};

const RE2& any_word() {
  static const RE2 all = [] {
    std::string text = "(?i)";
    const auto add = [&](const char* one, const char* behind) {
      text += (text.size() > 4 ? "|((?:" : "((?:") + std::string(one) + ")" + behind + ")";
    };
    for (const Tried& one : steps) add(one.pattern, R"((?:\s?=\s?[\w.:,-]*\w| (?:0|1|on|off)\b)?)");
    for (const auto& [kind, one] : others) add(one, "");
    return RE2(text);
  }();
  return all;
}

// "Disabling it": the step that was named last.
bool ends_in_pronoun(const Word& word) {
  static const RE2 pronoun(R"( (?:it|that|this|them)$)");
  return (word.kind == Kind::with || word.kind == Kind::without) &&
         RE2::PartialMatch(word.text, pronoun);
}

std::vector<Word> words_of(std::string_view text) {
  constexpr std::size_t groups = steps.size() + others.size();
  std::vector<Word> words;
  std::optional<std::size_t> last;  // The step that was named last.
  std::array<re2::StringPiece, groups + 1> found;
  const re2::StringPiece whole(text.data(), text.size());
  std::size_t from = 0;
  while (any_word().Match(whole, from, whole.size(), RE2::UNANCHORED, found.data(),
                          static_cast<int>(found.size()))) {
    for (std::size_t i = 0; i < groups; ++i) {
      if (found[i + 1].data() == nullptr) continue;
      const Kind kind = i < steps.size() ? Kind::step : others[i - steps.size()].first;
      words.push_back({kind, i, std::string(found[i + 1].data(), found[i + 1].size())});
      if (kind == Kind::step) last = words.size() - 1;
      if (ends_in_pronoun(words.back()) && last) words.push_back(Word(words[*last]));
      break;
    }
    auto end = static_cast<std::size_t>(found[0].data() - whole.data()) + found[0].size();
    // "It does not." ends a sentence, too.
    if (found[0].size() > 3 && std::string_view(".,;:)").find(text[end - 1]) != text.npos) --end;
    from = std::max(end, from + 1);
  }
  words.push_back({});
  return words;
}

bool is_outcome(Kind kind) {
  return kind == Kind::good || kind == Kind::bad;
}

// Whether the value switches it off: "X=0". A mask that is 0 names the first device.
bool is_off(std::string_view step) {
  static const RE2 off(R"((?i)(?:=\s?|\s)(?:0|false|off|no|none)$)");
  return step.find("_VISIBLE_DEVICES") == std::string_view::npos &&
         RE2::PartialMatch(re2::StringPiece(step.data(), step.size()), off);
}

// Whether the step at `at` is said to be taken back: by its value, by the last such word before it
// or, where there is none, by the one right behind it.
bool is_left_out(const std::vector<Word>& words, std::size_t begin, std::size_t at) {
  const bool out = is_off(words[at].text);
  for (std::size_t i = at; i > begin; --i) {
    const Kind kind = words[i - 1].kind;
    if (is_outcome(kind)) break;
    if (kind == Kind::with) return out;
    if (kind == Kind::without) return !out;
  }
  const bool behind = at + 1 < words.size() && words[at + 1].kind == Kind::without;
  return behind ? !out : out;
}

// Whether words say that the step was taken or taken back: a value, or "with", "unset", "adding".
bool is_tried(const std::vector<Word>& words, std::size_t begin, std::size_t at) {
  static const RE2 valued(R"(=| (?:0|1|on|off)$)");
  if (RE2::PartialMatch(words[at].text, valued)) return true;
  for (std::size_t i = begin; words[i].kind != Kind::stop; ++i) {
    if (words[i].kind == Kind::with || words[i].kind == Kind::without) return true;
  }
  return false;
}

// What came of the step at `at`: the next outcome of its part of the line, else the last one before
// it, else the first one of the part that follows, if that names no step.
std::optional<bool> outcome_of(const std::vector<Word>& words, std::size_t begin, std::size_t at) {
  std::size_t i = at + 1;
  for (; words[i].kind != Kind::stop; ++i) {
    if (is_outcome(words[i].kind)) return words[i].kind == Kind::good;
  }
  for (std::size_t before = at; before > begin; --before) {
    if (is_outcome(words[before - 1].kind)) return words[before - 1].kind == Kind::good;
  }
  for (++i; i < words.size() && words[i].kind != Kind::stop; ++i) {
    if (words[i].kind == Kind::step) return std::nullopt;
    if (is_outcome(words[i].kind)) return words[i].kind == Kind::good;
  }
  return std::nullopt;
}

// "It only crashes with X set."
bool fails_only_with(const std::vector<Word>& words, std::size_t begin, std::size_t at) {
  if (at < begin + 2 || words[at - 1].kind != Kind::only) return false;
  return words[at - 2].kind == Kind::bad;
}

// What a line tells: with the step it works, or fails; without it likewise.
struct Told {
  bool good_with = false, bad_with = false, good_without = false, bad_without = false;
  std::string with, without;  // How the step was written.
  const Observation* line = nullptr;
};

void read(const Observation& line, std::map<std::size_t, Told>& told) {
  std::string_view text = trim(line.text);
  if (text.ends_with('?')) return;  // Who asks claims nothing.
  const std::vector<Word> words = words_of(text);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].kind == Kind::stop) begin = i + 1;
    if (words[i].kind != Kind::step) continue;
    if (words[i + 1].kind == Kind::culprit || fails_only_with(words, begin, i)) {
      Told& one = told[words[i].step];
      one.good_without = true;
      one.without = words[i].text;
      if (one.line == nullptr) one.line = &line;
      continue;
    }
    const auto good = outcome_of(words, begin, i);
    // "Failed to … the video group" tells of no trial; one that failed names what was set.
    if (!good || (!*good && !is_tried(words, begin, i))) continue;
    Told& one = told[words[i].step];
    const bool out = is_left_out(words, begin, i);
    (out ? (*good ? one.good_without : one.bad_without) : (*good ? one.good_with : one.bad_with)) =
        true;
    (out ? one.without : one.with) = words[i].text;
    if (one.line == nullptr || *good) one.line = &line;
  }
}

std::string name_step(const std::string& text, bool out) {
  return out && !is_off(text) ? "without " + text : "with " + text;
}

void conclude(const Tried& step, const Told& one, std::vector<ToldRemedy>& remedies) {
  // Said both to help and not to: of different machines, or of different failures.
  const bool with_is_clear = one.good_with != one.bad_with;
  const bool without_is_clear = one.good_without != one.bad_without;
  if (!step.against.empty() && with_is_clear) {
    remedies.push_back({step.against, name_step(one.with, false), one.good_with,
                        one.good_with && one.bad_without, one.line});
  }
  if (!step.left_out.empty() && without_is_clear) {
    remedies.push_back({step.left_out, name_step(one.without, true), one.good_without,
                        one.good_without && one.bad_with, one.line});
  }
}

bool has_integrated(const LogSubject& subject) {
  return subject.scene.integrated_gpu() != nullptr || speaks_of(subject.log, "igpu");
}

// Whether the line reads like a note of a trial: "X=0 makes it go away", "With X=1 it trains."
bool is_note(std::string_view line) {
  static const RE2 note(R"(^\W{0,3}[A-Z][A-Z0-9_]{3,}=[\w.:,-]+`?:? [a-z]+ [\w ,.'’-]+$|)"
                        R"(^[A-Z][a-z]*\s[^\[\]{}<>|"]*\s[a-z][^\[\]{}<>|"]*[.!]$)");
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), note);
}

}  // namespace

std::vector<ToldRemedy> told_remedies(const LogSubject& subject) {
  std::map<std::size_t, Told> told;
  for (const Observation* line : told_lines(subject.log, "remedy-told")) {
    const bool is_tale = logs::is_sentence(line->text) || is_note(line->text);
    if (is_tale && !is_printed_line(subject.log, *line)) read(*line, told);
  }
  std::vector<ToldRemedy> remedies;
  for (const auto& [place, one] : told) conclude(steps[place], one, remedies);
  // If a change of the program brought it, the option only leads to where it is.
  const bool is_changed = subject.log.seen("bisect-told");
  for (ToldRemedy& one : remedies) {
    if (is_changed && one.cause == "unsupported-option") one.cause = "framework-bug";
  }
  std::erase_if(remedies, [&](const ToldRemedy& one) {
    return one.cause == "igpu-selected" && !has_integrated(subject);
  });
  return remedies;
}

void weigh_remedies(const LogSubject& subject, const std::vector<ToldRemedy>& told,
                    const CauseRule& rule, std::optional<Hypothesis>& hypothesis) {
  constexpr double doubt_that_stays = 0.5, keeps = 0.5, alone = 0.6, if_compared = 0.68;
  for (const ToldRemedy& one : told) {
    if (one.cause != rule.id) continue;
    if (!one.helped) {
      if (!hypothesis || rests_on(*hypothesis, *one.told)) continue;
      speak_against(
          *hypothesis, keeps,
          show(subject, *one.told, fmt::format("it is said to fail {} as well", one.step)));
      continue;
    }
    const bool failed = standing_failure(subject.log) != nullptr ||
                        subject.log.any_of({"trouble-words", "said-to-hang"});
    if (!failed) continue;
    const double sure = one.both_told ? if_compared : alone;
    const bool is_new = !hypothesis || hypothesis->confidence < confidence::possible;
    if (!is_new) {
      if (rests_on(*hypothesis, *one.told)) continue;
      hypothesis->confidence = 1 - (1 - hypothesis->confidence) * doubt_that_stays;
      hypothesis->reasons.push_back(fmt::format("It is said to work {} ({}:{}).", one.step,
                                                one.told->log_name, one.told->line));
      return;
    }
    Hypothesis shown;
    shown.is_told = true;
    shown.confidence = sure;
    shown.title = fmt::format("It is said to work {}", one.step);
    shown.reasons = {std::string(rule.meaning), "The author says so. No line of a log proves it."};
    shown.evidence = {show(subject, *one.told)};
    shown.fix = {sentence(std::string(rule.fix))};
    hypothesis = std::move(shown);
    return;
  }
}

}  // namespace headroom::findings
