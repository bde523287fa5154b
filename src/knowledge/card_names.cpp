// SPDX-License-Identifier: Apache-2.0
#include "knowledge/card_names.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "knowledge/gpu_tables.h"

namespace headroom::knowledge {

// `all` says in one pass which targets a text names; most texts name none.
struct CardNames::Compiled {
  std::vector<std::pair<std::string, std::string>> patterns;  // gfx → RE2.
  std::once_flag once;
  std::unique_ptr<RE2::Set> all;
  std::vector<std::unique_ptr<RE2>> each;  // As `patterns`.

  void compile() {
    all = std::make_unique<RE2::Set>(RE2::Quiet, RE2::UNANCHORED);
    for (const auto& [gfx, pattern] : patterns) {
      each.push_back(std::make_unique<RE2>(pattern, RE2::Quiet));
      all->Add(each.back()->ok() ? pattern : "$^", nullptr);
    }
    all->Compile();
  }
};

CardNames::CardNames() : CardNames(std::map<std::string, Target>()) {}

CardNames::CardNames(const std::map<std::string, Target>& targets)
    : compiled_(std::make_shared<Compiled>()) {
  for (const auto& [gfx, target] : targets) {
    if (target.names.empty()) continue;
    // The suffix after the number tells two cards with one target apart.
    compiled_->patterns.emplace_back(gfx, "((?:" + target.names + ")(?: ?(?:XTX|XT|GRE)\\b)?)");
  }
}

std::vector<NamedCard> CardNames::find(std::string_view text) const {
  std::call_once(compiled_->once, [this] { compiled_->compile(); });
  const re2::StringPiece piece(text.data(), text.size());
  std::vector<int> matching;
  compiled_->all->Match(piece, &matching);
  std::sort(matching.begin(), matching.end());
  std::vector<NamedCard> cards;
  for (const int index : matching) {
    const auto at = static_cast<std::size_t>(index);
    std::string name;
    if (!RE2::PartialMatch(piece, *compiled_->each[at], &name)) continue;
    cards.push_back({compiled_->patterns[at].first, name});
  }
  return cards;
}

}  // namespace headroom::knowledge
