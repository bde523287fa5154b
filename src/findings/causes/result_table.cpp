// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/result_table.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/text.h"

namespace headroom::findings {
namespace {

using logs::Observation;

std::vector<std::string> cells_of(std::string_view line) {
  std::string_view text = trim(line);
  if (text.starts_with('|')) text.remove_prefix(1);
  if (text.ends_with('|')) text.remove_suffix(1);
  std::vector<std::string> cells;
  for (const std::string_view cell : split(text, '|')) {
    std::string plain(trim(cell));
    std::erase_if(plain, [](char one) { return one == '`' || one == '*'; });
    cells.push_back(std::move(plain));
  }
  return cells;
}

bool is_rule_line(std::string_view line) {
  return line.find_first_not_of("|-: \t") == std::string_view::npos;
}

// "Broken?" is answered the other way round than "Works?".
bool asks_for_failure(std::string_view column) {
  static const RE2 failure(R"((?i)\b(?:broken|fail\w*|hangs?|crash\w*|errors?)\b)");
  return RE2::PartialMatch(re2::StringPiece(column.data(), column.size()), failure);
}

std::optional<bool> worked(const std::string& cell, bool failure_asked) {
  static const RE2 yes(R"((?i)^(?:yes|y|true|1|✓|✔|✅)\b.*|^(?:✓|✔|✅).*)");
  static const RE2 no(R"((?i)^(?:no|n|false|0|✗|✘|❌)\b.*|^(?:✗|✘|❌).*)");
  static const RE2 good(
      R"((?i)^\W*(?:works?|worked|ok|okay|fine|pass(?:es|ed)?|good|success\w*|correct|stable|runs|clean|no (?:crash|hang|error|fault)\w*|(?:exit|rc) ?(?:code )?[=:]? ?0)\b)");
  static const RE2 bad(
      R"((?i)^\W*(?:(?:[\w-]+ ){0,2}(?:fail\w*|crash\w*|hangs?|hung|freez\w*|frozen|segfault\w*|sig(?:segv|abrt|bus|ill)|abort\w*|broken|garbage|gibberish|oom|faults?|time[sd]? ?out|nan)|errors?|(?:exit|rc) ?(?:code )?[=:]? ?[1-9])\b)");
  if (RE2::PartialMatch(cell, yes)) return !failure_asked;
  if (RE2::PartialMatch(cell, no)) return failure_asked;
  if (RE2::PartialMatch(cell, good)) return true;
  if (RE2::PartialMatch(cell, bad)) return false;
  return std::nullopt;
}

// What a column's name is about. Names of settings, of the kernel's and the libraries' options.
struct Topic {
  const char* column;
  std::string_view cause;
};

// clang-format off
constexpr std::array topics = {
    Topic{R"((?i)p2p|\bpeer\b|dmabuf|\biommu\b|\bacs\b)", "rccl-p2p"},
    Topic{R"((?i)\bigpu\b|integrated|_VISIBLE_DEVICES\b)", "igpu-selected"},
    Topic{R"(HSA_OVERRIDE_GFX_VERSION|(?i:\boverride\b))", "gfx-override-wrong"},
    Topic{R"(XNACK|UNIFIED_MEMORY|(?i:\bmanaged\b))", "managed-memory"},
    Topic{R"((?i)\bfirmware\b)", "firmware-bad"},
    Topic{R"((?i)\bkernel(?: version)?$|\blinux\b)", "kernel-too-old"},
    Topic{R"((?i)^(?:rocm|hip|therock)\b)", "rocm-regression"},
    Topic{R"((?i)\bpython\b)", "python-version-unsupported"},
    Topic{R"((?i)\b(?:user|group|root|sudo|privileged)\b)", "device-permission"},
    Topic{R"((?i)^(?:vllm|ollama|llama\.?cpp|sglang|torch|pytorch|comfyui|program|build|commit|tag)\b)", "framework-bug"},
    Topic{R"(^--\w|^[A-Z]+(?:_[A-Z0-9]+)+=?|(?i:\boption\b|\bflag\b|attention|hipblaslt|aiter|graph))", "unsupported-option"},
};
// clang-format on

std::string_view cause_of(const std::string& column) {
  for (const Topic& one : topics) {
    if (RE2::PartialMatch(column, one.column)) return one.cause;
  }
  return {};
}

}  // namespace

TrialTable read_table(const Observation& head) {
  TrialTable table;
  table.head = &head;
  std::vector<std::string> columns = cells_of(head.text);
  if (columns.size() < 2) return table;
  const bool failure_asked = asks_for_failure(columns.back());
  columns.pop_back();
  table.columns = std::move(columns);
  for (const std::string& line : head.output) {
    if (line.find('|') == std::string::npos) break;
    if (is_rule_line(line)) continue;
    std::vector<std::string> cells = cells_of(line);
    if (cells.size() != table.columns.size() + 1) continue;
    TrialRow row;
    row.worked = worked(cells.back(), failure_asked);
    cells.pop_back();
    row.settings = std::move(cells);
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<std::size_t> deciding_columns(const TrialTable& table) {
  std::vector<std::size_t> deciding;
  for (std::size_t at = 0; at < table.columns.size(); ++at) {
    std::set<std::string> good, bad;
    std::size_t clear = 0;
    for (const TrialRow& row : table.rows) {
      if (!row.worked) continue;
      ++clear;
      (*row.worked ? good : bad).insert(to_lower(row.settings[at]));
    }
    if (good.empty() || bad.empty()) continue;
    const bool apart = std::none_of(good.begin(), good.end(),
                                    [&](const std::string& one) { return bad.contains(one); });
    // Where each row has a value of its own, the column tells only which row it is.
    const bool repeats = good.size() + bad.size() < clear || clear == 2;
    if (apart && repeats) deciding.push_back(at);
  }
  return deciding;
}

std::optional<Hypothesis> shown_by_table(const LogSubject& subject, const CauseRule& rule) {
  for (const Observation* head : subject.log.of("result-table")) {
    const TrialTable table = read_table(*head);
    const auto deciding = deciding_columns(table);
    // Columns of two subjects decide nothing between them.
    std::set<std::string_view> causes;
    for (const std::size_t at : deciding) causes.insert(cause_of(table.columns[at]));
    if (causes.size() != 1 || *causes.begin() != rule.id) continue;
    Hypothesis shown;
    shown.confidence = 0.55;
    shown.title =
        fmt::format("What works and what fails differs in {}", table.columns[deciding.front()]);
    shown.reasons = {std::string(rule.meaning),
                     "Its values part the runs that work from those that fail."};
    shown.evidence = {show(subject, *head, "a table of trials")};
    shown.fix = {sentence(std::string(rule.fix))};
    return shown;
  }
  return std::nullopt;
}

}  // namespace headroom::findings
