// SPDX-License-Identifier: Apache-2.0
#include "report/environment_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace headroom::report {
namespace {

using findings::Judgement;
using findings::KnobVerdict;

constexpr std::size_t mark_width = 15;  // Of the column with the verdicts.

std::string words(KnobVerdict verdict) {
  if (verdict == KnobVerdict::debugging) return "debugging aid";
  std::string text(to_string(verdict));
  std::replace(text.begin(), text.end(), '-', ' ');
  return text;
}

std::string painted(KnobVerdict verdict, std::string_view text, const Style& style) {
  switch (verdict) {
    case KnobVerdict::keep:
      return style.green(text);
    case KnobVerdict::dangerous:
    case KnobVerdict::wrong_unit:
      return style.red(text);
    case KnobVerdict::no_effect:
    case KnobVerdict::deprecated:
      return style.bold(text);
    default:
      return style.yellow(text);
  }
}

// A sentence begins with a capital letter and ends with a full stop.
std::string sentence(std::string text) {
  if (text.empty()) return text;
  const std::size_t first_word = std::min(text.find(' '), text.size());
  const bool is_name = std::any_of(
      text.begin(), text.begin() + static_cast<std::ptrdiff_t>(first_word),
      [](char c) { return c == '_' || c == '.' || c == '=' || (c >= '0' && c <= '9'); });
  if (!is_name && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  if (text.back() != '.' && text.back() != '?') text += '.';
  return text;
}

// The verdict in its column, the explanation beside it, the advice below.
std::string explanation(const Judgement& one, const Style& style) {
  const std::string indent = one.is_option() ? "          " : "      ";
  const std::string column = indent + std::string(mark_width, ' ');
  std::vector<std::string> said;
  for (const std::string& text : {one.does, one.why}) {
    if (!text.empty()) said.push_back(sentence(text));
  }
  const bool keep = one.verdict == KnobVerdict::keep;
  const std::string word = words(one.verdict);
  const std::string mark = indent + word + std::string(mark_width - word.size(), ' ');
  const std::string shown = painted(one.verdict, word, style);
  const std::string painted_mark = indent + shown + mark.substr(indent.size() + word.size());
  std::string text = fold(printable(join(said, " ")), painted_mark, style.width);
  if (!keep) text += fold(printable(sentence(one.advice)), column + "-> ", style.width);
  return text;
}

// Where it stands, if not in the file that was asked about.
std::string other_place(const facts::Source& source, const std::string& asked) {
  if (source.path.empty()) return source.line > 0 ? "" : "  (from what it extends)";
  return source.path == asked ? "" : "  (from " + printable(source.path) + ")";
}

std::string heading(const Judgement& one, const std::string& asked, const Style& style) {
  if (one.is_option()) {
    const std::string option = one.name.substr(one.name.find(':') + 1);
    return "        " + style.bold(printable(option + ":" + one.value)) + "\n";
  }
  const int line = one.setting.source.line;
  const std::string text = one.name + "=" + one.value;
  return fmt::format("{:>4}  ", line > 0 ? std::to_string(line) : "") +
         style.bold(keep_whole(printable(text))) +
         style.dim(other_place(one.setting.source, asked)) + "\n";
}

std::string machine_words(const facts::Facts& facts) {
  std::vector<std::string> parts;
  for (const facts::Gpu& gpu : facts.gpus) {
    const std::string name = gpu.name + (gpu.gfx ? " (" + *gpu.gfx + ")" : "");
    if (std::find(parts.begin(), parts.end(), name) == parts.end()) parts.push_back(name);
  }
  if (parts.empty()) parts.emplace_back("no AMD GPU");
  if (facts.gpus.size() > 1) parts.back() += fmt::format(", {} GPUs", facts.gpus.size());
  if (facts.machine.memory.total) parts.push_back(to_string(*facts.machine.memory.total) + " RAM");
  const auto& torch = facts.python.torch.version;
  parts.push_back(torch ? "PyTorch " + *torch : std::string("PyTorch's version unknown"));
  if (facts.machine.rocm) parts.push_back("ROCm " + *facts.machine.rocm);
  return join(parts, ", ");
}

std::string tally(const std::vector<Judgement>& judged) {
  std::map<KnobVerdict, int> counts;
  int all = 0;
  for (const Judgement& one : judged) {
    // A variable that only holds options is counted by them.
    const bool holds = &one != &judged.back() && (&one + 1)->is_option() && !one.is_option() &&
                       one.verdict == KnobVerdict::keep;
    if (!one.ours || holds) continue;
    ++counts[one.verdict];
    ++all;
  }
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : counts) {
    parts.push_back(fmt::format("{} {}", count, words(verdict)));
  }
  return fmt::format("{} setting{}: {}", all, all == 1 ? "" : "s", join(parts, ", "));
}

// What is no GPU's setting is counted, and not listed: it may be a secret, and it is left alone.
std::string left_alone(const std::vector<Judgement>& judged, const Style& style) {
  const auto others =
      std::count_if(judged.begin(), judged.end(), [](const Judgement& one) { return !one.ours; });
  if (others == 0) return "";
  return fold(others == 1 ? "One other is no GPU setting that headroom knows: left alone."
                          : fmt::format("{} others are no GPU settings that headroom knows: left "
                                        "alone.",
                                        others),
              "", style.width);
}

}  // namespace

bool has_gpu_settings(const std::vector<Judgement>& judged) {
  return std::any_of(judged.begin(), judged.end(), [](const Judgement& one) { return one.ours; });
}

std::string environment_text(const std::string& name, const facts::Facts& facts,
                             const std::vector<Judgement>& judged, const Style& style) {
  const std::string shown = name == "-" ? "standard input" : printable(name);
  if (!has_gpu_settings(judged)) return fit("No GPU settings in " + shown + "\n", style.width);
  std::string text = style.bold("Settings in " + shown) + "\n";
  text += style.dim(fold(printable(machine_words(facts)), "for ", style.width));
  for (const Judgement& one : judged) {
    if (!one.ours) continue;
    text += (one.is_option() ? "" : "\n") + heading(one, name, style) + explanation(one, style);
  }
  text += "\n" + style.bold(tally(judged)) + "\n" + left_alone(judged, style);
  const auto lines = findings::clean_lines(judged);
  if (lines.empty()) return fit(text + "You can delete the settings named above.\n", style.width);
  text += "What to keep:\n\n";
  for (const std::string& line : lines) text += "    " + keep_whole(printable(line)) + "\n";
  return fit(text, style.width);
}

std::string environment_tally(const std::vector<Judgement>& judged) {
  return has_gpu_settings(judged) ? tally(judged) + "\n" : "no settings\n";
}

nlohmann::ordered_json environment_json(const std::vector<Judgement>& judged) {
  using Ordered = nlohmann::ordered_json;
  Ordered list = Ordered::array();
  for (const Judgement& one : judged) {
    const auto& setting = one.setting;
    list.push_back(
        {{"name", one.name},
         {"value", one.ours ? Ordered(one.value) : Ordered(nullptr)},
         {"scope", to_string(setting.scope)},
         {"pid", setting.pid > 0 ? Ordered(setting.pid) : Ordered(nullptr)},
         {"source", setting.source.path},
         {"line", setting.source.line > 0 ? Ordered(setting.source.line) : Ordered(nullptr)},
         {"does", one.does.empty() ? Ordered(nullptr) : Ordered(one.does)},
         {"verdict", to_string(one.verdict)},
         {"why", one.why},
         {"advice", one.advice}});
  }
  return list;
}

}  // namespace headroom::report
