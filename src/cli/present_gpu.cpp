// SPDX-License-Identifier: Apache-2.0
#include "cli/present_gpu.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cli/surroundings.h"
#include "knowledge/gpu_tables.h"
#include "machine/open_root.h"
#include "probe/probe.h"

namespace headroom::cli {
namespace {

std::string check_command(const std::string& root) {
  return root == "/" ? "headroom check" : "headroom check --root " + root;
}

// Nothing where no limit of it is known.
std::optional<estimate::PresentGpu> present(const facts::Gpu& gpu) {
  const facts::Rung* rung = gpu.ladder.binding();
  if (rung == nullptr || !rung->limit) return std::nullopt;
  return estimate::PresentGpu{gpu.name, gpu.gfx.optional().value_or("target unknown"), rung->name,
                              *rung->limit, rung->used.optional().value_or(Bytes{})};
}

}  // namespace

Result<estimate::PresentGpu> find_present_gpu(const std::string& root, const Context& context) {
  HEADROOM_TRY(const knowledge::GpuTables tables, knowledge::load_gpu_tables());
  auto opened = machine::open_root(root);
  if (!opened) {
    Error error = std::move(opened).error();
    if (error.next.empty()) error.next = check_command(root);
    return error;
  }
  HEADROOM_TRY(
      const facts::Facts facts,
      probe::probe(opened->files, tables, make_surroundings(context, "", opened->files.is_real())));
  std::optional<estimate::PresentGpu> best;
  for (const facts::Gpu& gpu : facts.gpus) {
    const auto found = present(gpu);
    if (!found) continue;
    const auto left = [](const estimate::PresentGpu& one) {
      return saturating_sub(one.limit, one.held);
    };
    if (!best || left(*found) > left(*best)) best = found;
  }
  if (best) return *best;
  if (facts.gpus.empty()) {
    return Error{Errc::not_found,
                 "device.gpu = \"auto\": expected an AMD GPU in this machine, found none",
                 fmt::format("{}, or name the card: --gpu \"RX 7900 XT\"", check_command(root))};
  }
  return Error{
      Errc::not_found,
      fmt::format("device.gpu = \"auto\": expected a limit of {}'s memory, but none could be read",
                  facts.gpus.front().name),
      fmt::format("{}, or give the memory: --capacity 16GiB", check_command(root))};
}

Result<void> expect_root_is_used(const estimate::Job& job, const std::string& root) {
  const std::optional<std::string>& gpu = job.device.gpu;
  if (root == "/" || gpu == "auto") return {};
  return Error{Errc::invalid,
               fmt::format("--root takes the GPU of that machine; found {}",
                           gpu ? "--gpu " + *gpu : "another capacity"),
               "leave --root out, or the device: --gpu and --capacity"};
}

Result<estimate::Device> find_planned_device(const estimate::Job& job, const std::string& root,
                                             const Context& context) {
  HEADROOM_CHECK(expect_root_is_used(job, root));
  const bool present =
      job.device.gpu == "auto" && job.engine.kind == estimate::EngineKind::transformers;
  if (!present) return estimate::find_device(job);
  HEADROOM_TRY(const estimate::PresentGpu gpu, find_present_gpu(root, context));
  HEADROOM_TRY(estimate::Device device, estimate::find_device(job, gpu));
  // Before the verdict: that it fits would be read as that it runs.
  if (estimate::was_never_supported(gpu)) context.printer.note(device.notes.front());
  return device;
}

}  // namespace headroom::cli
