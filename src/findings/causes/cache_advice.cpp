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
    return {sentence("make the large tensors smaller or alike: a smaller batch, inputs padded to a "
                     "few fixed lengths"),
            sentence("start the process anew between stages that differ; TensorFlow's allocator "
                     "gives nothing back before it ends")};
  }
  if (framework == Framework::jax) {
    return {sentence("let inputs have a few fixed shapes, so that the same buffers are used again"),
            command("export XLA_PYTHON_CLIENT_ALLOCATOR=platform",
                    "(slower: every buffer is a call to the driver, and each goes back at once)")};
  }
  const Step packed =
      framework == Framework::torch
          ? command("headroom run --allocator -- CMD",
                    "(PyTorch 2.4 or later: headroom's allocator, which packs what is free)")
          : sentence("let the sizes of what it asks for be alike: a few fixed batches and lengths");
  return {packed, sentence(fmt::format("or: export {}", split_less())),
          sentence("or, with PyTorch 2.12 or later and ROCm 7.0 or later, instead of it: export "
                   "PYTORCH_ALLOC_CONF=expandable_segments:True   (never both: together they were "
                   "seen to lose data)"),
          sentence("between the stages of a workflow: torch.cuda.empty_cache()")};
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
  return "what the program's log says of its own buffers, against the card's size";
}

}  // namespace headroom::findings
