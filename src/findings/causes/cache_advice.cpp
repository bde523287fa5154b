// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/cache_advice.h"

#include <fmt/format.h>

namespace headroom::findings {

Framework framework_of(const logs::Observation& failed) {
  if (failed.id().starts_with("torch")) return Framework::torch;
  if (failed.id().starts_with("tf-")) return Framework::tensorflow;
  if (failed.id().starts_with("xla-")) return Framework::jax;
  return Framework::other;
}

// PyTorch's garbage_collection_threshold is not named: without a memory fraction it does nothing.
std::string_view split_less() {
  return "PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:512";
}

std::vector<Step> against_fragmentation(Framework framework) {
  if (framework == Framework::tensorflow) {
    return {sentence("Make the large tensors smaller or equal in size: use a smaller batch, and "
                     "pad inputs to a few fixed lengths."),
            sentence("Restart the process between stages that differ. TensorFlow's allocator gives "
                     "nothing back before the process ends.")};
  }
  if (framework == Framework::jax) {
    return {sentence("Give inputs a few fixed shapes, so that the same buffers are reused."),
            command("export XLA_PYTHON_CLIENT_ALLOCATOR=platform",
                    "(slower: every buffer is a call to the driver, and is given back at once)")};
  }
  const Step packed =
      framework == Framework::torch
          ? command("headroom run --allocator -- CMD",
                    "(PyTorch 2.4 or later: headroom's allocator, which puts free memory together)")
          : sentence("Let it request few different sizes: use a few fixed batches and lengths.");
  return {packed, sentence(fmt::format("Or: export {}", split_less())),
          sentence("Or, instead of that, with PyTorch 2.12 or later and ROCm 7.0 or later: export "
                   "PYTORCH_ALLOC_CONF=expandable_segments:True   (never both: together they were "
                   "seen to lose data)"),
          sentence("Between the stages of a workflow, call torch.cuda.empty_cache().")};
}

std::string_view cache_contents(Framework framework) {
  switch (framework) {
    case Framework::tensorflow:
      return "the allocator's own table in the log, from \"BFCAllocator dump\" to \"Stats:\"";
    case Framework::jax:
      return "in the job, before the step that fails: "
             "jax.profiler.save_device_memory_profile(\"memory.prof\")";
    case Framework::torch:
      return "in the job, where the error is caught: print(torch.cuda.memory_summary())";
    case Framework::other:
      break;
  }
  return "what the program's log says about its own buffers, compared with the card's size";
}

}  // namespace headroom::findings
