// SPDX-License-Identifier: Apache-2.0
#include "proof/step_kinds.h"

#include <algorithm>
#include <array>

namespace headroom::proof {
namespace {

using std::chrono::seconds;

// The first product on a GPU may compile or load code for a minute; MIOpen searches for its kernels
// at the first convolution of a shape.
constexpr std::array kinds = {
    StepKind{"import", "the framework is loaded", seconds(300)},
    StepKind{"memory", "memory is taken, written and read back", seconds(300)},
    StepKind{"released", "memory comes back when it is freed", seconds(120)},
    StepKind{"matmul-fp32", "a matrix product in 32 bits", seconds(120)},
    StepKind{"matmul-fp16", "a matrix product in 16 bits", seconds(120)},
    StepKind{"matmul-bf16", "a matrix product in bfloat16", seconds(120)},
    StepKind{"layer-norm", "layer norm", seconds(120)},
    StepKind{"softmax", "softmax", seconds(120)},
    StepKind{"attention", "fused attention", seconds(120)},
    StepKind{"convolution", "a convolution", seconds(300)},
    StepKind{"network", "a small network, forwards and backwards", seconds(300)},
    StepKind{"training", "a training", seconds(600)},
    StepKind{"rate", "products per second", seconds(120)},
    StepKind{"bandwidth", "bytes per second", seconds(120)},
};

constexpr std::array tried = {
    StepKind{"import", "the framework is loaded", seconds(300)},
    StepKind{"devices", "it has code for the device", seconds(120)},
    StepKind{"correctness", "what it computes is right", seconds(300)},
    StepKind{"training", "a training", seconds(600)},
};

const StepKind* find(std::span<const StepKind> among, std::string_view name) {
  const auto at = std::find_if(among.begin(), among.end(),
                               [name](const StepKind& kind) { return kind.name == name; });
  return at == among.end() ? nullptr : &*at;
}

}  // namespace

std::span<const StepKind> step_kinds() {
  return kinds;
}

std::span<const StepKind> trial_kinds() {
  return tried;
}

const StepKind* find_step(std::string_view name) {
  const StepKind* kind = find(kinds, name);
  return kind != nullptr ? kind : find(tried, name);
}

}  // namespace headroom::proof
