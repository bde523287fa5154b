// SPDX-License-Identifier: Apache-2.0
#include "allocator/forensics/out_of_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

std::string size(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

std::string who_asked(const OutOfMemory& p) {
  const std::string component(to_string(p.request.tag));
  return p.name.empty() ? component : component + " of " + p.name;
}

std::string first_sentence(const OutOfMemory& p) {
  return fmt::format("out of memory: {} asked for {}, live are {} of a capacity of {}",
                     who_asked(p), size(p.request.bytes), size(p.usage.live_bytes),
                     size(p.capacity_bytes));
}

std::vector<Component> live_components(const OutOfMemory& p) {
  std::vector<Component> components(all_components.begin(), all_components.end());
  std::erase_if(components, [&](Component c) { return p.usage.live[c] == 0; });
  std::stable_sort(components.begin(), components.end(),
                   [&](Component a, Component b) { return p.usage.live[a] > p.usage.live[b]; });
  return components;
}

std::string live_by_component(const OutOfMemory& p) {
  std::string text;
  for (const Component component : live_components(p))
    text += fmt::format("    {:<12} {:>10}\n", to_string(component), size(p.usage.live[component]));
  return "  live:\n" + (text.empty() ? "    nothing\n" : text);
}

std::string title(AgeUnit unit, const AgeBand& band) {
  if (unit == AgeUnit::iterations) {
    if (band.from == 0) return "this step";
    return band.below ? "last step" : "before";
  }
  if (!band.below) return "before";
  return fmt::format("{} {} events", band.from == 0 ? "last" : "to", *band.below);
}

std::string cell(std::uint64_t bytes) {
  return bytes == 0 ? "-" : size(bytes);
}

std::string live_by_age(const OutOfMemory& p, const HeapDetail& heap) {
  std::string text = fmt::format("  {:<14} {:>10}", "live, born in", "all");
  for (const AgeBand& band : heap.ages) text += fmt::format(" {:>16}", title(heap.age_unit, band));
  text += '\n';
  for (const Component component : live_components(p)) {
    text += fmt::format("    {:<12} {:>10}", to_string(component), size(p.usage.live[component]));
    for (const AgeBand& band : heap.ages)
      text += fmt::format(" {:>16}", cell(band.live[component]));
    text += '\n';
  }
  return text;
}

std::string what(const Owner& owner) {
  const std::string component(to_string(owner.tag));
  return owner.name.empty() ? component : component + " of " + owner.name;
}

std::string owners(const HeapDetail& heap) {
  if (heap.owners.empty()) return "";
  std::string text = fmt::format("  held by, of {} blocks:\n", heap.blocks);
  for (const Owner& owner : heap.owners)
    text += fmt::format("    {:>10} = {:>6} x {:>10}  {}\n", size(owner.bytes()), owner.count,
                        size(owner.block_bytes), what(owner));
  if (heap.largest)
    text += fmt::format("    the largest block is {}: {}\n", size(heap.largest->block_bytes),
                        what(*heap.largest));
  return text;
}

std::string split_row(std::string_view name, std::uint64_t bytes, std::string_view meaning) {
  return fmt::format("    {:<12} {:>10}  {}\n", name, size(bytes), meaning);
}

std::string free_in_detail(const OutOfMemory& p, const HeapDetail& heap) {
  std::string text =
      fmt::format("  free: {}, the largest piece {}; {} not taken or in spare pages\n",
                  size(p.free_bytes), size(p.largest_free_bytes), size(p.spare_bytes));
  text += split_row("hard", heap.split.hard_bytes, "between live blocks: cannot be moved");
  text += split_row("soft", heap.split.soft_bytes, "whole pages: can be moved or released");
  text += split_row("stream", heap.split.stream_bytes, "waits for work queued on other streams");
  text += split_row("rounding", heap.split.rounding_bytes,
                    "not free: the ends of live blocks that nobody asked for");
  if (p.fits_bytes < p.request.bytes || heap.defragmented_bytes < p.request.bytes)
    text += fmt::format("  would have fitted: {}; with every free byte in one piece {}\n",
                        size(p.fits_bytes), size(heap.defragmented_bytes));
  return text;
}

std::string why_free_memory_does_not_help(const OutOfMemory& p) {
  if (p.free_bytes + p.spare_bytes == 0) return "  free: nothing\n";
  std::string text = fmt::format(
      "  free: {} in pages that blocks share, the largest piece {}; {} in spare pages\n",
      size(p.free_bytes), size(p.largest_free_bytes), size(p.spare_bytes));
  if (p.waiting_bytes > 0)
    text +=
        fmt::format("    {} of it wait for work queued on other streams\n", size(p.waiting_bytes));
  text += fmt::format(
      "    a block needs one contiguous place: pieces smaller than a 2 MiB page cannot be moved\n"
      "    together; up to {} would have fitted\n",
      size(p.fits_bytes));
  return text;
}

std::string outside(const OutsideMemory& memory) {
  return fmt::format("  held outside this process: {} of the device's {}, says {}\n",
                     size(memory.held_bytes), size(memory.total_bytes), memory.source);
}

std::string batch(const BatchForecast& b) {
  const std::string basis = b.basis == BatchBasis::proportional
                                ? "one batch size was seen, so this is taken as proportional"
                                : "from the batch sizes seen";
  std::string text = "  batch:";
  if (b.batch > 0) text += fmt::format(" {} did not fit;", b.batch);
  text += fmt::format(" a sample takes {} ({})\n    the largest that fits is {}",
                      size(b.per_sample_bytes), basis, b.largest);
  if (b.largest_defragmented > b.largest)
    text += fmt::format(", with defragmentation {}", b.largest_defragmented);
  return text + '\n';
}

// Whether the device is the reason: the capacity had room for the request, but the device refused
// memory.
bool is_devices_fault(const OutOfMemory& p) {
  const std::uint64_t room = p.capacity_bytes - std::min(p.capacity_bytes, p.usage.live_bytes);
  return p.device && p.device->code == Errc::out_of_memory && p.request.bytes <= room;
}

// For a program that calls the allocator itself: nothing but the capacity is known of it.
std::string next_step_of_program(const OutOfMemory& p) {
  std::string step = "a smaller batch, a shorter sequence or checkpointing takes less";
  const bool is_all = p.outside && p.capacity_bytes >= p.outside->total_bytes;
  const std::uint64_t alone = p.usage.live_bytes + p.request.bytes;
  const std::uint64_t lacking = p.request.bytes > p.capacity_bytes
                                    ? alone - std::min(alone, p.capacity_bytes)
                                    : p.request.bytes - std::min(p.request.bytes, p.fits_bytes);
  if (!is_all && lacking > 0)
    step += fmt::format("; or raise the capacity by at least {}", size(lacking));
  return step;
}

std::string next_step(const OutOfMemory& p) {
  if (is_devices_fault(p) && !p.device->next.empty()) return p.device->next;
  if (!p.has_job_file) return next_step_of_program(p);
  if (p.request.bytes > p.capacity_bytes)
    return fmt::format(
        "the request alone is larger than the capacity: raise [device] capacity to "
        "more than {}, or make the tensor smaller; headroom plan --explain {} names it",
        size(p.usage.live_bytes + p.request.bytes), p.request.bytes);
  std::string step =
      "headroom plan --spec JOB.toml shows which smaller micro-batch, sequence or checkpointing "
      "fits";
  if (p.fits_bytes < p.request.bytes)
    step += fmt::format("; or raise [device] capacity by at least {}",
                        size(p.request.bytes - p.fits_bytes));
  return step;
}

}  // namespace

std::string to_text(const OutOfMemory& problem) {
  std::string text = first_sentence(problem) + '\n';
  if (problem.heap) {
    text += live_by_age(problem, *problem.heap) + owners(*problem.heap) +
            free_in_detail(problem, *problem.heap);
  } else {
    text += live_by_component(problem) + why_free_memory_does_not_help(problem);
  }
  if (problem.outside) text += outside(*problem.outside);
  // If no driver counts, as with the machine's own memory, there is nothing to say.
  if (problem.no_outside && problem.no_outside->code != Errc::unsupported)
    text +=
        fmt::format("  held outside this process: not known: {}\n", problem.no_outside->message);
  if (problem.batch) text += batch(*problem.batch);
  if (problem.device) text += fmt::format("  no more of the device: {}\n", problem.device->message);
  return text + "  next: " + next_step(problem);
}

Error to_error(const OutOfMemory& problem) {
  std::string message = first_sentence(problem);
  if (is_devices_fault(problem))
    message += fmt::format("; no more of the device: {}", problem.device->message);
  return {Errc::out_of_memory, std::move(message), next_step(problem)};
}

}  // namespace headroom::allocator
