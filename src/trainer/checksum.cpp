// SPDX-License-Identifier: Apache-2.0
#include "trainer/checksum.h"

#include <ATen/ATen.h>

#include <string_view>

#include "machine/checksum.h"
#include "trainer/data/checksum.h"

namespace headroom::trainer {

std::string checksum_of(const at::Tensor& tensor) {
  return data::checksum_of(
      std::string_view(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()));
}

std::string checksum_of(const std::deque<Parameter>& parameters) {
  std::string all;
  for (const Parameter& parameter : parameters)
    all += parameter.name + " " + checksum_of(parameter.value) + "\n";
  return machine::sha256(all);
}

}  // namespace headroom::trainer
