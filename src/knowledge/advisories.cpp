// SPDX-License-Identifier: Apache-2.0
#include "knowledge/advisories.h"

#include <set>

#include "base/document.h"
#include "base/document_reader.h"
#include "base/text.h"

namespace headroom::knowledge {
namespace {

KernelFix read_fix(TableReader& row) {
  KernelFix fix;
  fix.id = row.text("id");
  fix.what = row.text("what");
  fix.mainline = row.text("mainline");
  row.read("may_carry", fix.may_carry);
  fix.origin = read_origin(row);
  for (TableReader& entry : row.rows("ubuntu")) {
    fix.ubuntu.push_back({entry.text("flavour"), entry.text("series"), entry.text("package")});
    entry.refuse_unknown();
  }
  row.refuse_unknown();
  return fix;
}

FirstKernel read_first_kernel(TableReader& row) {
  FirstKernel first;
  first.gfx = row.text("gfx");
  first.since = row.text("since");
  first.origin = read_origin(row);
  row.refuse_unknown();
  return first;
}

VersionRange read_range(TableReader& row, std::string_view key, const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots != std::string::npos) return {text.substr(0, dots), text.substr(dots + 2)};
  row.wrong(key, "\"SINCE..BEFORE\"");
  return {};
}

FirmwareCondition read_firmware(TableReader row) {
  FirmwareCondition condition;
  condition.name = row.text("name");
  const auto number = parse_hex(row.text("is"));
  if (!number) row.wrong("is", "a hexadecimal version");
  condition.is = number.value_or(0);
  row.refuse_unknown();
  return condition;
}

void read_unless(TableReader& row, Advisory& advisory) {
  std::string option;
  row.read("unless", option);
  if (option.empty()) return;
  const std::size_t dot = option.find('.');
  const std::size_t equals = option.find('=');
  if (dot == std::string::npos || equals == std::string::npos || equals < dot) {
    return row.wrong("unless", "\"module.key=value\"");
  }
  advisory.unless_module = option.substr(0, dot);
  advisory.unless_key = option.substr(dot + 1, equals - dot - 1);
  advisory.unless_value = option.substr(equals + 1);
}

void read_conditions(TableReader& row, Advisory& advisory) {
  row.read("gfx", advisory.gfx);
  row.read("integrated", advisory.integrated);
  row.read("without", advisory.without_fix);
  row.read("with", advisory.with_fix);
  if (row.has("kernel")) advisory.kernel = read_range(row, "kernel", row.text("kernel"));
  std::vector<std::string> releases;
  row.read("rocm", releases);
  for (const std::string& range : releases) {
    advisory.rocm.push_back(read_range(row, "rocm", range));
  }
  if (row.has("firmware")) advisory.firmware = read_firmware(row.table("firmware"));
  read_unless(row, advisory);
}

Advisory read_advisory(TableReader& row) {
  Advisory advisory;
  advisory.id = row.text("id");
  advisory.about = row.text("about");
  read_conditions(row, advisory);
  advisory.effect = row.word<Effect>(
      "effect", {{"note", Effect::note}, {"unstable", Effect::unstable}, {"bad", Effect::bad}});
  row.read("cause", advisory.cause);
  if (advisory.cause.empty() == (advisory.effect == Effect::bad)) {
    row.wrong("cause", "a root cause exactly where the effect is bad");
  }
  advisory.happens = row.text("happens");
  row.read("price", advisory.price);
  row.read("do", advisory.to_do);
  advisory.origin = read_origin(row);
  row.refuse_unknown();
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
  DocumentReader reader(document, {.file = "data/advisories.toml"});
  TableReader table = reader.root();
  for (TableReader& row : table.rows("kernel_fix")) advisories.fixes.push_back(read_fix(row));
  for (TableReader& row : table.rows("first_kernel")) {
    advisories.first_kernels.push_back(read_first_kernel(row));
  }
  std::set<std::string> ids;
  for (TableReader& row : table.rows("advisory")) {
    Advisory advisory = read_advisory(row);
    if (!ids.insert(advisory.id).second) row.wrong("id", "an id that no other row has");
    for (const auto& [key, fix] :
         {std::pair("without", advisory.without_fix), std::pair("with", advisory.with_fix)}) {
      if (!fix.empty() && advisories.fix(fix) == nullptr) row.wrong(key, "the id of a kernel_fix");
    }
    advisories.rows.push_back(std::move(advisory));
  }
  HEADROOM_CHECK(reader.finish());
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
