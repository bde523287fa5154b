// SPDX-License-Identifier: Apache-2.0
#include "trainer/resume_notes.h"

#include <fmt/format.h>

#include "trainer/kernels/kernels.h"

namespace headroom::trainer {

std::vector<std::string> resume_notes(const LoadedCheckpoint& loaded, bool on_gpu) {
  std::vector<std::string> notes = {fmt::format("resuming after step {}", loaded.position.steps)};
  if (!loaded.has_checksums)
    notes.emplace_back(
        "the checkpoint is of an older headroom and has no checksums: whether it is whole, and of "
        "this very job, is not known; the next one has them");
  if (loaded.gpu != on_gpu) {
    const auto name = [](bool is_gpu) { return is_gpu ? "a GPU" : "the processor"; };
    notes.push_back(fmt::format(
        "the checkpoint was computed on {}, and this run is on {}: from here on the numbers are "
        "equal but for their rounding",
        name(loaded.gpu), name(on_gpu)));
  }
  if (!on_gpu && loaded.fused && *loaded.fused != kernels::kernels().fused)
    notes.push_back(fmt::format(
        "the checkpoint was computed {} fused multiply-add, and this processor computes {} it: "
        "from here on the numbers are equal but for their rounding",
        *loaded.fused ? "with" : "without", *loaded.fused ? "without" : "with"));
  return notes;
}

}  // namespace headroom::trainer
