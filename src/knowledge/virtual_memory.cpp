// SPDX-License-Identifier: Apache-2.0
#include "knowledge/virtual_memory.h"

#include <algorithm>
#include <set>

#include "knowledge/embedded.h"
#include "knowledge/knobs.h"
#include "knowledge/table_reader.h"

namespace headroom::knowledge {
namespace {

bool has_number(std::string_view version) {
  return compare_versions(version, "0").has_value();
}

Result<VirtualMemoryDenial> parse_denial(const Document& document, const std::string& place) {
  TableReader row(document, place);
  VirtualMemoryDenial denial;
  HEADROOM_TRY(denial.id, row.text("id"));
  HEADROOM_TRY(denial.gfx, row.texts_or_none("gfx"));
  if (denial.gfx.empty()) return row.wrong("gfx", "at least one target");
  HEADROOM_TRY(const auto ranges, row.texts_or_none("hip"));
  for (const std::string& range : ranges) {
    const std::size_t dots = range.find("..");
    if (dots == std::string::npos || !has_number(range.substr(0, dots)) ||
        !has_number(range.substr(dots + 2)))
      return row.wrong("hip", "\"SINCE..BEFORE\"");
    denial.runtimes.push_back({range.substr(0, dots), range.substr(dots + 2)});
  }
  if (denial.runtimes.empty()) return row.wrong("hip", "at least one range");
  HEADROOM_TRY(denial.happens, row.text("happens"));
  HEADROOM_TRY(denial.origin, parse_origin(row));
  HEADROOM_CHECK(row.finish());
  return denial;
}

bool within(const VersionRange& range, std::string_view version) {
  const auto since = compare_versions(version, range.since);
  const auto before = compare_versions(version, range.before);
  return !since || !before || (*since >= 0 && *before < 0);
}

}  // namespace

Result<std::vector<VirtualMemoryDenial>> parse_virtual_memory(std::string_view text) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  std::vector<VirtualMemoryDenial> denials;
  std::set<std::string> ids;
  for (const std::string& place : TableReader(document, "").rows("deny")) {
    HEADROOM_TRY(denials.emplace_back(), parse_denial(document, place));
    if (!ids.insert(denials.back().id).second)
      return TableReader(document, place).wrong("id", "each id once");
  }
  return denials;
}

Result<std::vector<VirtualMemoryDenial>> load_virtual_memory() {
  auto denials = parse_virtual_memory(embedded("virtual_memory"));
  if (!denials) return std::move(denials).error().in("data/virtual_memory.toml");
  return denials;
}

const VirtualMemoryDenial* find_denial(const std::vector<VirtualMemoryDenial>& denials,
                                       std::string_view gfx, std::string_view runtime) {
  for (const VirtualMemoryDenial& denial : denials) {
    const bool named = std::find(denial.gfx.begin(), denial.gfx.end(), gfx) != denial.gfx.end();
    const bool ranged =
        std::any_of(denial.runtimes.begin(), denial.runtimes.end(),
                    [&](const VersionRange& range) { return within(range, runtime); });
    if (named && ranged) return &denial;
  }
  return nullptr;
}

}  // namespace headroom::knowledge
