// SPDX-License-Identifier: Apache-2.0
#include "change/hard_links.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::change {

std::vector<std::string> find_parted_names(const machine::WritableFiles& files,
                                           const plan::Change& change) {
  std::vector<std::string> sentences;
  for (const auto* steps : {&change.steps, &change.on_confirm}) {
    for (const plan::Step& step : *steps) {
      const auto* edit = std::get_if<plan::FileEdit>(&step.action);
      const auto path = edit == nullptr || !edit->after ? Result<std::string>(std::string())
                                                        : files.resolve(edit->path);
      if (!path || path->empty()) continue;
      const auto entry = files.look(*path);
      if (!entry || !*entry || (*entry)->kind != EntryKind::file || (*entry)->names < 2) continue;
      std::string sentence = fmt::format(
          "{} has {} names (hard links). --apply makes this name a separate file. The others keep "
          "their present contents.",
          *path, (*entry)->names);
      if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) {
        sentences.push_back(std::move(sentence));
      }
    }
  }
  return sentences;
}

}  // namespace headroom::change
