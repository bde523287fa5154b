// SPDX-License-Identifier: Apache-2.0
#include "trainer/checksum.h"

#include <ATen/ATen.h>

#include <string_view>

#include "trainer/data/checksum.h"

namespace headroom::trainer {

std::string checksum_of(const at::Tensor& tensor) {
  return data::checksum_of(
      std::string_view(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()));
}

std::string list_checksums(const std::deque<Parameter>& parameters) {
  std::string all;
  for (const Parameter& parameter : parameters) {
    if (!parameter.is_copy) all += parameter.name + " " + checksum_of(parameter.value) + "\n";
  }
  return all;
}

}  // namespace headroom::trainer
