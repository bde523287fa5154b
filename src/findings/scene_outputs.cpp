// SPDX-License-Identifier: Apache-2.0
// What commands printed, where it has a meaning only together with the command, and which kernel
// ran when the log was written.
#include "base/text.h"
#include "facts/kernel_text.h"
#include "findings/scene_parts.h"

namespace headroom::findings {
namespace {

using logs::Observation;

facts::Source output_source(const Observation& seen) {
  facts::Source source = source_of(seen);
  source.line += 1;
  source.text = trim(seen.output.front());
  return source;
}

// The release that uname printed under its command; missing for any other line.
facts::Text kernel_of_output(const Observation& seen) {
  if (seen.id() != "uname-command" || seen.output.empty()) return {};
  for (const std::string_view word : split_words(trim(seen.output.front()))) {
    if (facts::parse_kernel_version(word)) return {std::string(word), output_source(seen)};
  }
  return {};
}

}  // namespace

void date_kernel(Scene& scene, const logs::Observations& log) {
  if (scene.measured == nullptr || !scene.measured->machine.kernel) return;
  const auto measured = facts::parse_kernel_version(*scene.measured->machine.kernel);
  facts::Text printed;
  for (const Observation& seen : log.all()) {
    const std::string_view value = trim(seen.value("kernel"));
    const facts::Text kernel =
        value.empty() ? kernel_of_output(seen) : facts::Text(std::string(value), source_of(seen));
    if (!kernel) continue;
    if (facts::parse_kernel_version(*kernel) == measured) return;
    if (!printed) printed = kernel;
  }
  if (!printed) return;
  scene.kernel_now = scene.measured->machine.kernel;
  scene.machine.kernel = printed;
  scene.machine.kernel_signature = {};
  scene.machine.options.clear();
  for (SceneGpu& gpu : scene.gpus) gpu.pool = {};
}

void add_outputs(Scene& scene, const logs::Observations& log) {
  for (const Observation& seen : log.all()) {
    if (seen.output.empty()) continue;
    if (!scene.machine.kernel) {
      if (facts::Text kernel = kernel_of_output(seen)) scene.machine.kernel = std::move(kernel);
    }
    if (seen.id() == "vram-total-command" && !scene.vram) {
      const std::string_view first = trim(seen.output.front());
      if (const auto bytes = parse_u64(first)) scene.vram = {Bytes{*bytes}, output_source(seen)};
    }
  }
}

}  // namespace headroom::findings
