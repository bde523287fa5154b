// SPDX-License-Identifier: Apache-2.0
#include "proof/frameworks.h"

#include <algorithm>
#include <array>

namespace headroom::proof {
namespace {

constexpr std::array known = {
    Framework{"torch", "PyTorch"},
    Framework{"jax", "JAX"},
    Framework{"tensorflow", "TensorFlow"},
    Framework{"onnxruntime", "onnxruntime", false},
};

}  // namespace

std::span<const Framework> frameworks() {
  return known;
}

std::vector<Framework> known_among(const std::vector<std::string>& told) {
  std::vector<Framework> found;
  for (const Framework& one : known) {
    if (std::find(told.begin(), told.end(), one.id) != told.end()) found.push_back(one);
  }
  return found;
}

}  // namespace headroom::proof
