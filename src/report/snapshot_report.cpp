// SPDX-License-Identifier: Apache-2.0
#include "report/snapshot_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/document.h"
#include "base/text.h"
#include "report/style.h"

namespace headroom::report {
namespace {

using allocator::OwnedMemory;
using allocator::SnapshotOom;
using allocator::SnapshotOwner;

std::string human(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

std::string number(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// The tensor or the line of the program, the component where the file says it, or that nobody
// knows.
std::string name_of(const SnapshotFacts& facts, SnapshotOwner owner) {
  const bool tagged = owner.tag != allocator::Component::other;
  if (owner.name == 0) return tagged ? std::string(to_string(owner.tag)) : "owner not recorded";
  const std::string name = printable(facts.names[owner.name]);
  return tagged ? fmt::format("{}: {}", to_string(owner.tag), name) : name;
}

std::string largest_then(const SnapshotFacts& facts, const SnapshotOom& oom) {
  std::string text = "The largest owners of live memory then:\n";
  for (const OwnedMemory& owned : oom.largest)
    text += fmt::format("  {:>10}  {:>13}  {}\n", human(owned.bytes), number(owned.blocks, "block"),
                        name_of(facts, owned.owner));
  return oom.largest.empty() ? "Nothing was live then.\n" : text;
}

std::string introduce_oom(const SnapshotFacts& facts, const SnapshotOom& oom) {
  std::string text = fmt::format(
      "It ends in an OOM: {} were asked for ({}) and refused. PyTorch had {} live and {} reserved, "
      "so {} of its own were unused; the device had {} free.\n",
      human(oom.refused_bytes), name_of(facts, oom.owner), human(oom.live_bytes),
      human(oom.reserved_bytes), human(oom.unused_bytes()), human(oom.device_free_bytes));
  if (oom.limited_by_the_process())
    text +=
        "The device had room, so a limit of the process refused "
        "(torch.cuda.set_per_process_memory_fraction); what PyTorch had reserved counts as the "
        "capacity.\n";
  if (oom.earlier > 0)
    text += fmt::format("It had {} before that, and continued.\n", number(oom.earlier, "OOM"));
  if (oom.later_allocations > 0)
    text += fmt::format("It also continued after it: {} that came later are not replayed.\n",
                        number(oom.later_allocations, "allocation"));
  return text + largest_then(facts, oom);
}

std::string outcome(const SnapshotOom& oom, const TraceFacts& trace, const ReplayRow& row) {
  const std::string capacity = capacity_text(row, "unlimited memory");
  if (row.result.completed)
    return fmt::format(
        "  {}: yes. Everything up to there and the refused {} fit into {}; {} were "
        "reserved at most.\n",
        row.policy, human(oom.refused_bytes), capacity,
        human(row.result.usage.reserved_peak_bytes));
  if (*row.result.failed_at == trace.events)
    return fmt::format(
        "  {}: no. It refuses the same request in {}: {} were live and {} reserved.\n", row.policy,
        capacity, human(row.result.usage.live_bytes), human(row.result.usage.reserved_bytes));
  return fmt::format("  {}: no. In {} it fails earlier, at event {} of {}.\n", row.policy, capacity,
                     *row.result.failed_at, trace.events);
}

// Each line by itself; what goes on keeps the line's indent.
std::string fold_lines(const std::string& text, std::size_t width) {
  std::string folded;
  for (const std::string_view line : split_lines(text)) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    folded += line.empty() ? "\n" : fold(line.substr(indent), std::string(indent, ' '), width);
  }
  return folded;
}

Json or_null(std::uint32_t name, const SnapshotFacts& facts) {
  return name == 0 ? Json(nullptr) : Json(facts.names[name]);
}

}  // namespace

Json to_json(const SnapshotFacts& facts) {
  Json json = {{"device", facts.device},
               {"live_at_start_blocks", facts.live_at_start},
               {"live_at_start_bytes", facts.live_at_start_bytes},
               {"contradictions", facts.contradictions},
               {"oom", nullptr}};
  if (!facts.oom) return json;
  const SnapshotOom& oom = *facts.oom;
  Json largest = Json::array();
  for (const OwnedMemory& owned : oom.largest)
    largest.push_back({{"owner", or_null(owned.owner.name, facts)},
                       {"component", to_string(owned.owner.tag)},
                       {"blocks", owned.blocks},
                       {"bytes", owned.bytes}});
  json["oom"] = {{"refused_bytes", oom.refused_bytes},
                 {"owner", or_null(oom.owner.name, facts)},
                 {"device_free_bytes", oom.device_free_bytes},
                 {"live_bytes", oom.live_bytes},
                 {"reserved_bytes", oom.reserved_bytes},
                 {"unused_bytes", oom.unused_bytes()},
                 {"capacity_bytes", oom.capacity_bytes()},
                 {"process_limit", oom.limited_by_the_process()},
                 {"earlier_ooms", oom.earlier},
                 {"later_allocations", oom.later_allocations},
                 {"largest", largest}};
  return json;
}

std::string introduce(const std::string& name, const SnapshotFacts& facts, std::size_t width) {
  std::string text =
      fmt::format("{} is a PyTorch memory snapshot of device {}", name, facts.device);
  if (facts.devices.size() > 1)
    text += fmt::format(", one of {} in it; --device N takes another", facts.devices.size());
  text += ".\n";
  if (!facts.settings.empty())
    text += fmt::format("PYTORCH_CUDA_ALLOC_CONF was {}.\n", printable(facts.settings));
  if (facts.live_at_start > 0)
    text += fmt::format("{}, {}, were live before its oldest event; they come first, by address.\n",
                        number(facts.live_at_start, "block"), human(facts.live_at_start_bytes));
  if (facts.contradictions > 0)
    text += fmt::format("{} contradict what came before: some are missing in the snapshot.\n",
                        number(facts.contradictions, "event"));
  text += facts.oom ? introduce_oom(facts, *facts.oom) : "It does not end in an OOM.\n";
  return fold_lines(text, width) + "\n";
}

std::string answer(const SnapshotFacts& facts, const TraceFacts& trace,
                   const std::vector<ReplayRow>& rows, std::size_t width) {
  if (!facts.oom) return "";
  std::string text = "\nWould this job have got past it?\n";
  for (const ReplayRow& row : rows) text += outcome(*facts.oom, trace, row);
  text += "The snapshot does not contain what it would have requested after that.\n";
  const bool helps = std::any_of(rows.begin(), rows.end(), [](const ReplayRow& row) {
    return row.result.completed && row.policy.starts_with("headroom");
  });
  text = fold_lines(text, width);
  if (!helps) return text;
  return text + "\n" +
         next_line("headroom run --allocator -- CMD",
                   "(runs the same program unchanged on headroom's allocator)",
                   Style{false, width});
}

}  // namespace headroom::report
