// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/told_words.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "findings/causes/outcome_words.h"

namespace headroom::findings {
namespace {

struct Pattern {
  WordKind kind;
  Component component;
  const char* text;
};

constexpr const char* other_path =
    R"(\b(?:fall(?:s|ing|en)?|fell) back (?:on|to|onto) (?:(?:the|its|a|an|our) )?(?:[\w-]+ ){0,2})"
    R"((?:path|mode|implementation|back-?end|kernels|cpu|code|algorithm|transport|sockets?|vulkan|)"
    R"(host|memory|routine|attention|reduction|copies|copy)\b)";

// Where two of these begin at one place, the one that stands first here is taken.
constexpr std::array patterns =
    {
        Pattern{WordKind::good, Component::rocm, denied_trouble},
        Pattern{
            WordKind::once, Component::rocm,
            R"(\bused to (?:work|run|be fine|be ok\w*|train|load)\b|\bworked (?:\w+ )?(?:before|earlier|previously|in the past|a while ago)\b|\b(?:previously|formerly|always) worked\b|\bhad (?:been working|worked)\b|\bworked (?:\w+ ){0,2}(?:yesterday|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|last (?:week|month|year)|for (?:\w+ )?(?:days|weeks|months|years))\b)"},
        // What is expected or asked for has not come about.
        Pattern{
            WordKind::pause, Component::rocm,
            R"(\bany (?:updates?|news|progress)\b|\b(?:should|ought to|supposed to|expected to|might|may) (?:\w+ )?(?:work|run|be|have|support|fix|help|solve)\w*(?: (?:fine|fixed|ok|good|solved|supported|stable))?)"},
        // What was not changed is not what it is about.
        Pattern{
            WordKind::pause, Component::rocm,
            R"(\bsame (?:rocm|kernel|driver|firmware|linux|torch)\b(?: \d[\d.]*)?|\b(?:rocm|kernel|driver|firmware|linux|torch) (?:\d[\d.]* )?(?:itself )?(?:not touched|untouched|unchanged|stayed the same|was not changed)\b)"},
        // A program that takes another path goes back to no release.
        Pattern{WordKind::pause, Component::rocm, other_path},
        Pattern{WordKind::since_then, Component::rocm,
                R"(\b(?:ever )?since (?:then|that (?:day|update|upgrade))\b|\bever since\b)"},
        Pattern{
            WordKind::since, Component::rocm,
            R"(\b(?:since|as of|(?:everything|anything|all(?: \w+)?) (?:from|above|after|newer than|later than)|starting (?:with|from)|(?:it )?(?:began|begins|started) (?:with|in|after)|introduced (?:in|with|by))\b)"},
        Pattern{WordKind::futile, Component::rocm, futile},
        Pattern{WordKind::opposite, Component::rocm, opposite},
        Pattern{WordKind::bad, Component::rocm, trouble},
        Pattern{WordKind::good, Component::rocm, success},
        Pattern{
            WordKind::only, Component::rocm,
            R"(\bonly (?:happen\w* |occur\w* |seen |there |present |crash\w* |fail\w* )?(?:on|in|with|under|from|after)\b)"},
        Pattern{WordKind::too, Component::rocm, R"(\b(?:too|as well|likewise)\b)"},
        Pattern{
            WordKind::back, Component::rocm,
            R"(\bdowngrad\w*|\brevert\w*|\broll(?:ed|ing|s)?[ -]?back\b|\b(?:went|going|go|goes|switch(?:ed|ing)?|moved?|moving|stepp?(?:ed|ing)?|fell|fall(?:ing)?|changed|drop(?:ped|ping)?) back\b|\bpinn(?:ed|ing)\b)"},
        Pattern{
            WordKind::forth, Component::rocm,
            R"(\bupgrad\w*|\bupdat(?:e|es|ed|ing)\b|\bbump(?:ed|ing)?\b|\b(?:switch(?:ed|ing)?|mov(?:ed|ing)|went|jump(?:ed)?|chang(?:ed|ing)) to\b|\bmigrat\w+ (?:to|from)\b|\b(?:going|went|goes|mov(?:ed|ing)|coming|came|switch(?:ed|ing)?) from\b|\bpulled (?:in )?(?:the |a )?(?:latest|new\w*)\b|\breplac\w+\b|\bbrought\b|\btaking (?:the|a) (?:\w+ )?(?:one|version|package|release)\b)"},
        Pattern{WordKind::added, Component::rocm, R"(\binstall(?:s|ed|ing)\b|\bboot(?:ed|ing)\b)"},
        Pattern{WordKind::newer, Component::rocm,
                R"(\b(?:newer|newest|latest|later|new|current (?:master|main|git|head|trunk))\b)"},
        Pattern{
            WordKind::older, Component::rocm,
            R"(\b(?:older|previous|previously|earlier|prior|old|from (?:\w+ ){1,2}(?:days?|weeks?|months?) ago|the (?:version|release|one|build|package|image) before|(?:yesterday|last (?:week|month|year))['’]?s)\b)"},
        Pattern{WordKind::component, Component::firmware,
                R"((?:linux-|amd-gpu-)?\bfirmware(?:-amdgpu|-amd-graphics)?\b)"},
        Pattern{
            WordKind::component, Component::rocm,
            R"(\brocm(?:sdk)?(?:-\w+)?|\bhip(?: ?sdk)?\b|\btherock\b|\bclr\b|\blibamdhip64\b|\b(?:lib)?(?:rocblas|hipblaslt|miopen|rocr|comgr)\b|\bnightl(?:y|ies) (?:build )?(?:of|from) (?:the ?rock|rocm)\b)"},
        Pattern{WordKind::component, Component::torch,
                R"(\b(?:py)?torch\b|\bnightl(?:y|ies)\b|\btriton\b)"},
        Pattern{
            WordKind::component, Component::kernel,
            R"(\blinux(?:-(?:oem|hwe|image|generic|lowlatency|zen|lts|mainline)[\w-]*)?\b|\bkernels?\b|\bdrm/amd\w*)"},
        Pattern{
            WordKind::component,
            Component::other, R"(\b(?:python|ubuntu|fedora|debian|arch|artix|manjaro|cachyos|endeavouros|gentoo|alma|nixos|nixpkgs|suse|opensuse|rhel|rocky|centos|windows|wsl2?|cuda|mesa|vulkan|gcc|clang|llvm|cmake|numpy|docker|podman|proxmox|bios|agesa|glibc|node|qemu)\b(?:[ -](?:gnu/)?linux\b)?)"},
        Pattern{WordKind::component, Component::driver, R"(\badrenalin\b|\bdrivers?\b)"},
        Pattern{
            WordKind::component, Component::program,
            R"(\b(?:ollama|vllm|sglang|llama\.?cpp|koboldcpp|comfyui|invokeai|localai|lm ?studio|onnxruntime|migraphx|ctranslate2|whisper\.cpp|immich|frigate|transformers|diffusers|sd\.?next|aiter|xformers|bitsandbytes|deepspeed|jax|tensorflow|stable-diffusion\.cpp|exllama\w*|axolotl|unsloth|tinygrad|mfakto|blender)\b)"},
        Pattern{
            WordKind::version, Component::rocm,
            R"(\bv?\d{1,2}\.(?:\d{1,3}|x\b)(?:\.\d+)*(?:a20\d{6}|[-.]?(?:rc|a|b|dev)\d+)?(?:[-.]\d+)?|\ba?20\d{6}\b|\b0x[0-9a-f]{2,8}\b|\bb\d{4,5}\b)"},
        Pattern{WordKind::before, Component::rocm,
                R"(\b(?:before|until|till|prior to|instead of|rather than)\b)"},
        Pattern{WordKind::from, Component::rocm, R"(\b(?:from|between)\b)"},
        Pattern{WordKind::to, Component::rocm, R"(\bto\b|-+>|=+>|→|\band\b|\bby\b)"},
        Pattern{WordKind::stop, Component::rocm, R"([.;!?](?:\s|$)|[—|])"},
        Pattern{WordKind::pause, Component::rocm,
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

// Names glued to their release are taken apart: "rocm6.3" of an image's tag is "rocm 6.3", and
// "rocm7" or "ROCm 7" any 7.x; a wheel's "+rocm6.3" and an index's "whl/rocm6.3" only name a file.
// The "-rocm" behind a program's release names a build of that release, not ROCm's own.
std::string separate_releases(std::string_view line) {
  static const RE2 build(R"((?i)(\d\.\d[\w.]*)-rocm\b)");
  static const RE2 glued(R"((?i)(^|[^\w+/.=-])rocm[-_ ]?v?(\d))");
  static const RE2 firmware(R"((?i)\b(linux-firmware)-(20\d{6}))");
  static const RE2 major_alone(R"((?i)\b(rocm \d{1,2})([^\d.]|\.(?:\s|$)|$))");
  static const RE2 nightly_of_rocm(R"((?i)\b(?:rocm|therock) nightl(?:y|ies)\b)");
  // An address names pages, and what it leads to is not what was run. A release's page and a
  // package's file are called by their names.
  static const RE2 package_file(R"(https?://\S*/([\w.+~-]+\.(?:rpm|deb|pkg\.tar\.\w+)))");
  static const RE2 release_page(R"(https?://\S*/releases/tag/([\w.+-]+)[^\s)\]]*)");
  static const RE2 address(R"((?:https?|ftp)://[^\s)\]>]+)");
  std::string text(line);
  RE2::GlobalReplace(&text, release_page, " \\1 ");
  RE2::GlobalReplace(&text, package_file, " \\1 ");
  RE2::GlobalReplace(&text, address, " ");
  RE2::GlobalReplace(&text, build, "\\1");
  RE2::GlobalReplace(&text, glued, "\\1rocm \\2");
  RE2::GlobalReplace(&text, firmware, "\\1 \\2");
  RE2::GlobalReplace(&text, major_alone, "\\1.x\\2");
  RE2::GlobalReplace(&text, nightly_of_rocm, "therock");
  return text;
}

// "20260608 works, 0609 crashes": days of the same year.
void complete_dates(std::string& text) {
  static const RE2 date(R"((20\d{2})(?:0[1-9]|1[0-2])[0-3]\d\b)");
  static const RE2 day(R"((^|[\s(,])((?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))\b)");
  std::string year;
  if (RE2::PartialMatch(text, date, &year)) {
    RE2::GlobalReplace(&text, day, "\\1a" + year + "\\2");
  }
}

// Amounts are no versions, and dates are written in several ways.
void settle_numbers(std::string& text) {
  static const RE2 amount(
      R"((?i)\b\d+(?:\.\d+)? ?(?:%|(?:[KMGT]i?B|GHz|MHz|ms|sec\w*|min\w*|hours?|days?|weeks?|months?|years?|tokens?|t/s|it/s|fps|times|W)\b))");
  static const RE2 date(R"(\b(20[12]\d)-([01]\d)-([0-3]\d)\b)");
  static const RE2 rate(
      R"((?i)\b\d+(?:\.\d+)? ?(?:t/s|tok(?:en)?s?(?:/s(?:ec)?| per second)|it/s|s/it|images?/s|samples?/s|fps|TFLOPS|GB/s)(?:\W|$))");
  RE2::GlobalReplace(&text, date, "\\1\\2\\3");
  // Who names a rate got work done.
  RE2::GlobalReplace(&text, rate, "works ");
  RE2::GlobalReplace(&text, amount, "some");
}

// A build's number in brackets behind a release says what was built with it, and is no other
// subject.
void leave_out_asides(std::string& text) {
  static const RE2 aside(R"((\d\.\d[\w.]*) \([^()]{0,40}\bb\d{4,5}\b[^()]{0,20}\))");
  RE2::GlobalReplace(&text, aside, "\\1");
}

// The cells of a table's row are parts of one sentence.
std::string join_cells(std::string text) {
  if (std::count(text.begin(), text.end(), '|') >= 2) {
    std::replace(text.begin(), text.end(), '|', ' ');
  }
  return text;
}

// Leaves out the question that a line ends in: who asks claims nothing.
std::string_view without_question(std::string_view line) {
  if (!trim(line).ends_with('?')) return line;
  const std::size_t end = line.rfind(". ");
  return end == std::string_view::npos ? std::string_view() : line.substr(0, end + 1);
}

bool is_end(char one) {
  return one == '.' || one == ';' || one == ',' || one == ':' || one == ')';
}

bool is_bad(const ToldWord& word) {
  return word.kind == WordKind::bad || word.kind == WordKind::futile;
}

// Whether an outcome follows in the same sentence.
bool has_outcome_behind(const std::vector<ToldWord>& words, std::size_t at) {
  for (std::size_t i = at + 1; i < words.size() && words[i].kind != WordKind::stop; ++i) {
    if (is_bad(words[i]) || words[i].kind == WordKind::good) return true;
  }
  return false;
}

// Gives words their sense that have it from others. "Only with" is bad news, unless what came
// before says that it works only so; "not with" is the opposite of what came before.
void settle(std::vector<ToldWord>& words) {
  const ToldWord* last = nullptr;
  for (std::size_t i = 0; i < words.size(); ++i) {
    ToldWord& word = words[i];
    if (word.kind == WordKind::only) {
      const bool works = i > 0 && words[i - 1].kind == WordKind::good;
      word.kind = works ? WordKind::good : WordKind::bad;
    } else if (word.kind == WordKind::opposite) {
      word.kind = last != nullptr && is_bad(*last) ? WordKind::good : WordKind::bad;
    } else if (word.kind == WordKind::since_then) {
      word.kind = has_outcome_behind(words, i) ? WordKind::too : WordKind::bad;
    }
    if (is_bad(word) || word.kind == WordKind::good) last = &word;
  }
}

}  // namespace

std::vector<ToldWord> told_words(std::string_view line) {
  static_assert(patterns.size() < 40);
  std::string text = join_cells(separate_releases(without_question(line)));
  leave_out_asides(text);
  settle_numbers(text);
  complete_dates(text);
  std::vector<ToldWord> words;
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
    auto end = static_cast<std::size_t>(groups[0].data() - whole.data()) + groups[0].size();
    // "0.12 does not." ends a sentence, too.
    if (groups[0].size() > 3 && is_end(text[end - 1])) --end;
    from = std::max(end, from + 1);
  }
  words.push_back({});
  settle(words);
  return words;
}

}  // namespace headroom::findings
