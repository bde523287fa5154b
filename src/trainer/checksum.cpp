// SPDX-License-Identifier: Apache-2.0
#include "trainer/checksum.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <string_view>

#include "trainer/data/checksum.h"

namespace headroom::trainer {

std::string checksum_of(const at::Tensor& tensor) {
  const at::Tensor here = tensor.cpu();
  return data::checksum_of(
      std::string_view(static_cast<const char*>(here.data_ptr()), here.nbytes()));
}

namespace {

// All that decides what a quantised matrix is when it is made again.
std::string list_parts(const Parameter& parameter) {
  const QuantisedMatrix& matrix = *parameter.quantised.matrix;
  std::string all =
      parameter.name + " " + checksum_of(matrix.packed()) + " " + checksum_of(matrix.scales());
  if (matrix.nested().defined())
    all += fmt::format(" {} {:a}", checksum_of(matrix.nested()), matrix.offset());
  return all + fmt::format(" {} {}\n", to_string(matrix.format()), toString(matrix.dtype()));
}

}  // namespace

std::string list_checksums(const std::deque<Parameter>& parameters) {
  std::string all;
  for (const Parameter& parameter : parameters) {
    if (parameter.quantised.matrix != nullptr) {
      if (parameter.quantised.first == 0) all += list_parts(parameter);
    } else if (!parameter.is_copy) {
      all += parameter.name + " " + checksum_of(parameter.value) + "\n";
    }
  }
  return all;
}

}  // namespace headroom::trainer
