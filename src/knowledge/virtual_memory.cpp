// SPDX-License-Identifier: Apache-2.0
#include "knowledge/virtual_memory.h"

#include <algorithm>
#include <set>

#include "base/document.h"
#include "base/document_reader.h"
#include "knowledge/embedded.h"
#include "knowledge/knobs.h"

namespace headroom::knowledge {
namespace {

bool has_number(std::string_view version) {
  return compare_versions(version, "0").has_value();
}

VirtualMemoryDenial read_denial(TableReader& row) {
  VirtualMemoryDenial denial;
  denial.id = row.text("id");
  row.read("gfx", denial.gfx);
  if (denial.gfx.empty()) row.wrong("gfx", "at least one target");
  std::vector<std::string> ranges;
  row.read("hip", ranges);
  for (const std::string& range : ranges) {
    const std::size_t dots = range.find("..");
    if (dots == std::string::npos || !has_number(range.substr(0, dots)) ||
        !has_number(range.substr(dots + 2))) {
      row.wrong("hip", "\"SINCE..BEFORE\" in each");
      break;
    }
    denial.runtimes.push_back({range.substr(0, dots), range.substr(dots + 2)});
  }
  if (denial.runtimes.empty()) row.wrong("hip", "at least one range");
  denial.happens = row.text("happens");
  denial.origin = read_origin(row);
  row.refuse_unknown();
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
  DocumentReader reader(document, {.file = "data/virtual_memory.toml"});
  std::vector<VirtualMemoryDenial> denials;
  std::set<std::string> ids;
  for (TableReader& row : reader.root().rows("deny")) {
    denials.push_back(read_denial(row));
    if (!ids.insert(denials.back().id).second) row.wrong("id", "an id that no other row has");
  }
  HEADROOM_CHECK(reader.finish());
  return denials;
}

Result<std::vector<VirtualMemoryDenial>> load_virtual_memory() {
  return parse_virtual_memory(embedded("virtual_memory"));
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
