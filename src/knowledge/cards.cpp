// SPDX-License-Identifier: Apache-2.0
#include "knowledge/cards.h"

#include <fmt/format.h>

#include <vector>

#include "base/document.h"
#include "base/text.h"
#include "knowledge/embedded.h"

namespace headroom::knowledge {
namespace {

std::string plain(std::string_view name) {
  std::string key = to_lower(name);
  for (const std::string_view word : {"amd", "radeon", "instinct", " ", "-", "(tm)"}) {
    for (auto at = key.find(word); at != std::string::npos; at = key.find(word))
      key.erase(at, word.size());
  }
  return key;
}

}  // namespace

Result<Card> find_card(std::string_view name) {
  HEADROOM_TRY(const Document tables, parse_toml(embedded("cards")));
  std::vector<std::string> names;
  for (const auto& group : tables.value.at("group")) {
    for (const auto& [card, facts] : group.at("cards").items()) {
      if (plain(card) == plain(name)) {
        const std::string gfx = facts.at("gfx");
        const std::uint64_t workspace = tables.value.at("blas_workspace_mib").value(gfx, 32U);
        return Card{card, gfx, 1_MiB * facts.at("vram_mib").get<std::uint64_t>(),
                    1_MiB * workspace};
      }
      names.push_back(card);
    }
  }
  const auto meant = nearest(name, names);
  return Error{
      Errc::not_found, fmt::format("device.gpu: no card is known by the name \"{}\"", name),
      meant ? fmt::format("did you mean \"{}\"? or give device.capacity = \"16GiB\"", *meant)
            : "give the memory instead: device.capacity = \"16GiB\""};
}

}  // namespace headroom::knowledge
