// SPDX-License-Identifier: Apache-2.0
#include "report/holders_text.h"

#include <fmt/format.h>

#include "base/text.h"

namespace headroom::report {
namespace {

using Row = std::vector<std::string>;
using facts::Whereabouts;

std::string amount(const std::optional<Bytes>& bytes) {
  return bytes ? to_string(*bytes) : "-";
}

Bytes or_nothing(const std::optional<Bytes>& bytes) {
  return bytes ? *bytes : Bytes{};
}

std::string describe_place(const facts::Holder& holder) {
  if (holder.whereabouts == Whereabouts::outside) return "not visible: on the host, or hidden";
  if (holder.whereabouts == Whereabouts::gone) return "gone: no process has this PID any more";
  std::vector<std::string> parts;
  if (!holder.container.empty()) {
    parts.push_back((holder.engine.empty() ? "container" : holder.engine) + " " + holder.container);
  }
  if (!holder.job.empty()) parts.push_back(holder.job);
  // A container's own scope says no more than its id.
  if (!holder.unit.empty() && holder.container.empty()) parts.push_back(holder.unit);
  return printable(join(parts, ", "));
}

// On an APU carve-out and GTT are one memory, so a column holds both.
class Table {
 public:
  explicit Table(bool both) : both_(both) {
    rows_ = {{"held by", "PID", "user", "VRAM", "GTT"}};
    if (both) rows_[0].emplace_back("both");
    rows_[0].emplace_back("where");
  }

  void add(const facts::Holder& holder) {
    Row row = {holder.command.empty() ? "?" : printable(holder.command), std::to_string(holder.pid),
               printable(holder.user), amount(holder.vram), amount(holder.gtt)};
    if (both_) row.push_back(to_string(or_nothing(holder.vram) + or_nothing(holder.gtt)));
    row.push_back(describe_place(holder));
    rows_.push_back(std::move(row));
  }

  // A figure without a process.
  void add(std::string what, Bytes bytes, std::string where) {
    Row row = {std::move(what), "", "", both_ ? "" : to_string(bytes), ""};
    if (both_) row.push_back(to_string(bytes));
    row.push_back(std::move(where));
    rows_.push_back(std::move(row));
  }

  std::string to_text(const Style& style) const {
    if (rows_.size() == 1) return "";
    std::vector<Align> columns = {Align::left, Align::right, Align::left, Align::right,
                                  Align::right};
    if (both_) columns.push_back(Align::right);
    columns.push_back(Align::left);
    std::string text;
    for (const TableLine& line : table(rows_, columns, 4, style.width)) {
      text += (line.row == 0 ? style.dim(line.text) : line.text) + "\n";
    }
    return text;
  }

 private:
  bool both_;
  std::vector<Row> rows_;
};

}  // namespace

std::string holders_table(const facts::Gpu& gpu, const Style& style) {
  const facts::Accounting& account = gpu.accounting;
  Table table(gpu.integrated && *gpu.integrated);
  for (const facts::Holder& holder : gpu.holders) table.add(holder);
  const auto add = [&table](std::string what, const facts::Fact<Bytes>& amount, std::string where) {
    if (amount) table.add(std::move(what), *amount, std::move(where));
  };
  const auto is_some = [](const facts::Fact<Bytes>& amount) { return amount && amount->value > 0; };
  add("the driver", account.baseline, "firmware, page tables, display (an estimate)");
  if (is_some(account.unattributed)) {
    add("not attributed", account.unattributed, "no visible process accounts for it");
  }
  if (is_some(account.beyond)) {
    add("counted twice", account.beyond, "claimed above, but more than the driver counts");
  }
  add("in use", account.used, "as the driver counts");
  return table.to_text(style);
}

}  // namespace headroom::report
