// SPDX-License-Identifier: Apache-2.0
// Tells what each operator of ONNX gives: shapes, types and, for small tensors of whole numbers,
// the numbers. The definitions are in onnx/onnx: docs/Operators.md; attributes that became inputs
// in a later operator set are read from where they are.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "estimate/files/onnx_call.h"

namespace headroom::estimate {

// One fact for each output, in their order; fewer, or facts without a shape, where it is not known.
using OnnxRule = std::vector<OnnxFact> (*)(const OnnxCall& call);

struct NamedOnnxRule {
  std::string_view op;
  OnnxRule rule;
};

// Null for an operator that this version does not know.
OnnxRule find_onnx_rule(std::string_view op);

// The tables of each file of rules, which find_onnx_rule searches.
const std::vector<NamedOnnxRule>& onnx_elementwise_rules();
const std::vector<NamedOnnxRule>& onnx_product_rules();
const std::vector<NamedOnnxRule>& onnx_window_rules();
const std::vector<NamedOnnxRule>& onnx_layout_rules();
const std::vector<NamedOnnxRule>& onnx_selection_rules();
const std::vector<NamedOnnxRule>& onnx_source_rules();

}  // namespace headroom::estimate
