// SPDX-License-Identifier: Apache-2.0
#include "allocator/out_of_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/bytes.h"

namespace headroom::allocator {
namespace {

std::string size(std::uint64_t bytes) {
  return to_string(Bytes{bytes});
}

std::string first_sentence(const OutOfMemory& p) {
  return fmt::format("out of memory: {} asked for {}, live are {} of a capacity of {}",
                     to_string(p.request.tag), size(p.request.bytes), size(p.usage.live_bytes),
                     size(p.capacity_bytes));
}

std::string live_by_component(const OutOfMemory& p) {
  std::vector<Component> components(all_components.begin(), all_components.end());
  std::erase_if(components, [&](Component c) { return p.usage.live[c] == 0; });
  std::stable_sort(components.begin(), components.end(),
                   [&](Component a, Component b) { return p.usage.live[a] > p.usage.live[b]; });
  std::string text;
  for (const Component component : components)
    text += fmt::format("    {:<12} {:>10}\n", to_string(component), size(p.usage.live[component]));
  return text.empty() ? "    nothing\n" : text;
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

std::string next_step(const OutOfMemory& p) {
  if (p.request.bytes > p.capacity_bytes)
    return fmt::format(
        "the request alone is larger than the capacity: raise [device] capacity to "
        "more than {}, or make the tensor smaller; headroom plan --explain {} names it",
        size(p.usage.live_bytes + p.request.bytes), p.request.bytes);
  return fmt::format(
      "headroom plan --spec JOB.toml shows which smaller micro-batch, sequence or checkpointing "
      "fits; "
      "or raise [device] capacity by at least {}",
      size(p.request.bytes - std::min(p.request.bytes, p.fits_bytes)));
}

}  // namespace

std::string to_text(const OutOfMemory& problem) {
  std::string text = first_sentence(problem) + "\n  live:\n" + live_by_component(problem) +
                     why_free_memory_does_not_help(problem);
  if (problem.device) text += fmt::format("  the device refused: {}\n", problem.device->message);
  return text + "  next: " + next_step(problem);
}

Error to_error(const OutOfMemory& problem) {
  return {Errc::out_of_memory, first_sentence(problem), next_step(problem)};
}

}  // namespace headroom::allocator
