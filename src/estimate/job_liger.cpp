// SPDX-License-Identifier: Apache-2.0
#include "estimate/job_liger.h"

#include <array>
#include <optional>
#include <utility>

#include "base/document.h"

namespace headroom::estimate {
namespace {

using Liger = Job::Compute::Liger;

struct Kernel {
  const char* key;
  std::optional<bool> Liger::*told;
};
// The parameters of apply_liger_kernel_to_…; a family has one of the two gated units.
constexpr std::array<Kernel, 6> kernels = {
    {{"rope", &Liger::rope},
     {"rms_norm", &Liger::rms_norm},
     {"swiglu", &Liger::swiglu},
     {"geglu", &Liger::geglu},
     {"cross_entropy", &Liger::cross_entropy},
     {"fused_linear_cross_entropy", &Liger::fused_linear_cross_entropy}}};

}  // namespace

void read_liger(TableReader& compute, Liger& liger) {
  compute.read("use_liger_kernel", liger.on);
  TableReader config = compute.optional_table("liger_kernel_config");
  for (const Kernel& kernel : kernels) {
    if (config.find(kernel.key) == nullptr) continue;
    bool on = true;
    config.read(kernel.key, on);
    liger.*kernel.told = on;
  }
  config.refuse_unknown();
}

void write_liger(const Liger& liger, Json& compute) {
  if (!liger.on) return;
  compute["use_liger_kernel"] = true;
  for (const Kernel& kernel : kernels)
    if (liger.*kernel.told) compute["liger_kernel_config"][kernel.key] = *(liger.*kernel.told);
}

}  // namespace headroom::estimate
