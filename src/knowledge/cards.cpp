// SPDX-License-Identifier: Apache-2.0
#include "knowledge/cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/document.h"
#include "base/text.h"
#include "knowledge/embedded.h"

namespace headroom::knowledge {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

std::string plain(std::string_view name) {
  std::string key = to_lower(name);
  for (const std::string_view word :
       {"amd", "radeon", "instinct", "nvidia", "geforce", "tesla", " ", "-", "(tm)"}) {
    for (auto at = key.find(word); at != std::string::npos; at = key.find(word))
      key.erase(at, word.size());
  }
  return key;
}

VendorFacts vendor_facts(const Json& tables, Vendor vendor) {
  const Json& facts = tables.at("vendor").at(vendor == Vendor::amd ? "amd" : "nvidia");
  return {1_MiB * facts.at("context_mib").get<std::uint64_t>(),
          1_KiB * facts.at("blas_workspace_kib").get<std::uint64_t>()};
}

// gpus.toml says it of AMD's targets.
FusedAttention attention_of(const Json& facts, const Json& targets, const std::string& target) {
  for (const Json& row : targets) {
    if (row.at("gfx") == target)
      return row.contains("attention") ? FusedAttention::flash : FusedAttention::none;
  }
  const std::string said = facts.value("attention", "");
  if (said == "flash") return FusedAttention::flash;
  return said == "efficient" ? FusedAttention::efficient : FusedAttention::none;
}

struct Tables {
  Json cards;
  Json targets;
};

Card to_card(const Tables& tables, Vendor vendor, const std::string& name, const Json& facts) {
  Card card;
  card.name = name;
  card.vendor = vendor;
  card.target = facts.at(vendor == Vendor::amd ? "gfx" : "arch");
  card.vram = 1_MiB * facts.at("vram_mib").get<std::uint64_t>();
  card.shows = {static_cast<double>(card.vram.value) / gib};
  if (facts.contains("shows_gib")) {
    card.shows = facts.at("shows_gib").get<std::vector<double>>();
    card.vram = Bytes{static_cast<std::uint64_t>(card.shows.front() * gib)};
  }
  const VendorFacts common = vendor_facts(tables.cards, vendor);
  card.context = common.context;
  card.blas_workspace =
      1_KiB *
      tables.cards.at("blas_workspace_kib").value(card.target, common.blas_workspace.value >> 10U);
  if (facts.contains("sms"))
    card.resident_threads = facts.at("sms").get<std::uint64_t>() *
                            tables.cards.at("threads_per_sm").at(card.target).get<std::uint64_t>();
  card.attention = attention_of(facts, tables.targets, card.target);
  card.tflops16 = facts.at("tflops16");
  card.tflops32 = facts.at("tflops32");
  card.gb_s = facts.at("gb_s");
  const std::string kind = facts.at("class");
  card.kind = kind == "server"        ? CardClass::server
              : kind == "workstation" ? CardClass::workstation
                                      : CardClass::consumer;
  return card;
}

}  // namespace

std::string_view to_string(Vendor vendor) {
  return vendor == Vendor::amd ? "AMD" : "NVIDIA";
}

Result<std::vector<Card>> load_cards() {
  Tables tables;
  HEADROOM_TRY(Document document, parse_toml(embedded("cards")));
  tables.cards = std::move(document.value);
  HEADROOM_TRY(const Document gpus, parse_toml(embedded("gpus")));
  tables.targets = gpus.value.at("target");
  std::vector<Card> cards;
  for (const auto& group : tables.cards.at("group")) {
    const Vendor vendor = group.at("vendor") == "amd" ? Vendor::amd : Vendor::nvidia;
    for (const auto& [name, facts] : group.at("cards").items())
      cards.push_back(to_card(tables, vendor, name, facts));
  }
  return cards;
}

namespace {

// "MI50x" is near "Instinct MI50", whose first word nobody types.
std::optional<std::string> nearest_without_maker(std::string_view name,
                                                 const std::vector<std::string>& names) {
  std::vector<std::string> tails;
  for (const std::string& one : names) tails.push_back(one.substr(one.find(' ') + 1));
  const auto tail = nearest(name, tails);
  if (!tail) return std::nullopt;
  const auto at = std::find(tails.begin(), tails.end(), *tail) - tails.begin();
  return names[static_cast<std::size_t>(at)];
}

}  // namespace

Result<Card> find_card(std::string_view name) {
  constexpr std::size_t shortest_end = 4;
  HEADROOM_TRY(const std::vector<Card> cards, load_cards());
  std::vector<std::string> names;
  // "A100" is the beginning of two, "7900 XT" the end of one, "gfx906" the target of several.
  std::vector<Card> begun, ending;
  const std::string typed = plain(name);
  for (const Card& card : cards) {
    const std::string own = plain(card.name);
    if (own == typed) return card;
    if (!typed.empty() && (own.starts_with(typed) || card.target == typed)) begun.push_back(card);
    if (typed.size() >= shortest_end && own.ends_with(typed)) ending.push_back(card);
    names.push_back(card.name);
  }
  if (begun.size() == 1) return begun.front();
  if (begun.empty() && ending.size() == 1) return ending.front();
  if (begun.empty()) begun = std::move(ending);
  if (!begun.empty()) {
    std::vector<std::string> several;
    for (const Card& card : begun) several.push_back("\"" + card.name + "\"");
    return Error{Errc::invalid, fmt::format("several cards are called \"{}\"", name),
                 "name one of " + join(several, ", ")}
        .at("device.gpu");
  }
  auto meant = nearest(name, names);
  if (!meant) meant = nearest_without_maker(name, names);
  return Error{Errc::not_found, fmt::format("no card is known by the name \"{}\"", name),
               meant
                   ? fmt::format("did you mean \"{}\"? or give device.capacity = \"16GiB\"", *meant)
                   : "give the memory instead: device.capacity = \"16GiB\""}
      .at("device.gpu");
}

Result<std::optional<Telling>> find_by_capacity(Bytes capacity) {
  HEADROOM_TRY(const std::vector<Card> cards, load_cards());
  const auto hundredths = std::llround(static_cast<double>(capacity.value) / gib * 100);
  std::vector<Card> showing;
  for (const Card& card : cards) {
    const bool shows = std::any_of(card.shows.begin(), card.shows.end(), [&](double amount) {
      return std::llround(amount * 100) == hundredths;
    });
    if (shows) showing.push_back(card);
  }
  const bool one_vendor = std::all_of(showing.begin(), showing.end(), [&](const Card& card) {
    return card.vendor == showing.front().vendor;
  });
  if (showing.empty() || !one_vendor) return std::optional<Telling>{};
  Telling telling{showing.front().vendor, std::nullopt};
  if (showing.size() == 1) telling.card = showing.front();
  return std::optional(telling);
}

Result<VendorFacts> find_vendor(Vendor vendor) {
  HEADROOM_TRY(const Document tables, parse_toml(embedded("cards")));
  return vendor_facts(tables.value, vendor);
}

}  // namespace headroom::knowledge
