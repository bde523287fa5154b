// SPDX-License-Identifier: Apache-2.0
#include "knowledge/advisories.h"

#include <set>

#include "base/document.h"
#include "base/text.h"
#include "knowledge/table_reader.h"

namespace headroom::knowledge {
namespace {

Result<KernelFix> parse_fix(const Document& document, const std::string& place) {
  TableReader row(document, place);
  KernelFix fix;
  HEADROOM_TRY(fix.id, row.text("id"));
  HEADROOM_TRY(fix.what, row.text("what"));
  HEADROOM_TRY(fix.mainline, row.text("mainline"));
  HEADROOM_TRY(fix.may_carry, row.named_texts("may_carry"));
  HEADROOM_TRY(fix.origin, parse_origin(row));
  for (const std::string& at : row.rows("ubuntu")) {
    TableReader entry(document, at);
    UbuntuPackage package;
    HEADROOM_TRY(package.flavour, entry.text("flavour"));
    HEADROOM_TRY(package.series, entry.text("series"));
    HEADROOM_TRY(package.package, entry.text("package"));
    HEADROOM_CHECK(entry.finish());
    fix.ubuntu.push_back(std::move(package));
  }
  HEADROOM_CHECK(row.finish());
  return fix;
}

Result<FirstKernel> parse_first_kernel(const Document& document, const std::string& place) {
  TableReader row(document, place);
  FirstKernel first;
  HEADROOM_TRY(first.gfx, row.text("gfx"));
  HEADROOM_TRY(first.since, row.text("since"));
  HEADROOM_TRY(first.origin, parse_origin(row));
  HEADROOM_CHECK(row.finish());
  return first;
}

Result<VersionRange> parse_range(const TableReader& row, const std::string& key,
                                 const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return row.wrong(key, "\"SINCE..BEFORE\"");
  return VersionRange{text.substr(0, dots), text.substr(dots + 2)};
}

Result<FirmwareCondition> parse_firmware(const Document& document, const std::string& place) {
  TableReader row(document, place + "/firmware");
  FirmwareCondition condition;
  HEADROOM_TRY(condition.name, row.text("name"));
  HEADROOM_TRY(const std::string version, row.text("is"));
  const auto number = parse_hex(version);
  if (!number) return row.wrong("is", "a hexadecimal version");
  condition.is = *number;
  HEADROOM_CHECK(row.finish());
  return condition;
}

Status parse_unless(TableReader& row, Advisory& advisory) {
  HEADROOM_TRY(const std::string option, row.text_or("unless", ""));
  if (option.empty()) return Done{};
  const std::size_t dot = option.find('.');
  const std::size_t equals = option.find('=');
  if (dot == std::string::npos || equals == std::string::npos || equals < dot) {
    return row.wrong("unless", "\"module.key=value\"");
  }
  advisory.unless_module = option.substr(0, dot);
  advisory.unless_key = option.substr(dot + 1, equals - dot - 1);
  advisory.unless_value = option.substr(equals + 1);
  return Done{};
}

Status parse_conditions(const Document& document, const std::string& place, TableReader& row,
                        Advisory& advisory) {
  HEADROOM_TRY(advisory.gfx, row.texts_or_none("gfx"));
  HEADROOM_TRY(advisory.integrated, row.flag_or("integrated", false));
  HEADROOM_TRY(advisory.without_fix, row.text_or("without", ""));
  HEADROOM_TRY(advisory.with_fix, row.text_or("with", ""));
  if (row.has("kernel")) {
    HEADROOM_TRY(const std::string range, row.text("kernel"));
    HEADROOM_TRY(advisory.kernel, parse_range(row, "kernel", range));
  }
  HEADROOM_TRY(const auto releases, row.texts_or_none("rocm"));
  for (const std::string& range : releases) {
    HEADROOM_TRY(advisory.rocm.emplace_back(), parse_range(row, "rocm", range));
  }
  if (!row.rows("firmware").empty()) {
    HEADROOM_TRY(advisory.firmware, parse_firmware(document, place));
  }
  return parse_unless(row, advisory);
}

Result<Advisory> parse_advisory(const Document& document, const std::string& place) {
  TableReader row(document, place);
  Advisory advisory;
  HEADROOM_TRY(advisory.id, row.text("id"));
  HEADROOM_TRY(advisory.about, row.text("about"));
  HEADROOM_CHECK(parse_conditions(document, place, row, advisory));
  HEADROOM_TRY(advisory.effect, row.word<Effect>("effect", {{"note", Effect::note},
                                                            {"unstable", Effect::unstable},
                                                            {"bad", Effect::bad}}));
  HEADROOM_TRY(advisory.cause, row.text_or("cause", ""));
  if (advisory.cause.empty() == (advisory.effect == Effect::bad)) {
    return row.wrong("cause", "a root cause exactly where the effect is bad");
  }
  HEADROOM_TRY(advisory.happens, row.text("happens"));
  HEADROOM_TRY(advisory.to_do, row.texts_or_none("do"));
  HEADROOM_TRY(advisory.origin, parse_origin(row));
  HEADROOM_CHECK(row.finish());
  return advisory;
}

}  // namespace

const KernelFix* Advisories::fix(std::string_view id) const {
  for (const KernelFix& one : fixes) {
    if (one.id == id) return &one;
  }
  return nullptr;
}

Result<Advisories> parse_advisories(std::string_view text) {
  Advisories advisories;
  HEADROOM_TRY(const Document document, parse_toml(text));
  std::set<std::string> ids;
  for (const std::string& place : TableReader(document, "").rows("kernel_fix")) {
    HEADROOM_TRY(advisories.fixes.emplace_back(), parse_fix(document, place));
  }
  for (const std::string& place : TableReader(document, "").rows("first_kernel")) {
    HEADROOM_TRY(advisories.first_kernels.emplace_back(), parse_first_kernel(document, place));
  }
  for (const std::string& place : TableReader(document, "").rows("advisory")) {
    HEADROOM_TRY(Advisory advisory, parse_advisory(document, place));
    const TableReader row(document, place);
    if (!ids.insert(advisory.id).second) return row.wrong("id", "each id once");
    for (const std::string& fix : {advisory.without_fix, advisory.with_fix}) {
      if (!fix.empty() && advisories.fix(fix) == nullptr) {
        return row.wrong("without", "the id of a kernel_fix, not " + fix);
      }
    }
    advisories.rows.push_back(std::move(advisory));
  }
  return advisories;
}

std::string_view to_string(Effect effect) {
  switch (effect) {
    case Effect::bad:
      return "bad";
    case Effect::unstable:
      return "unstable";
    case Effect::note:
      break;
  }
  return "note";
}

}  // namespace headroom::knowledge
