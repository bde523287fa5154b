// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/onnx_rules.h"

#include <map>

namespace headroom::estimate {

OnnxRule find_onnx_rule(std::string_view op) {
  static const std::map<std::string_view, OnnxRule> rules = [] {
    std::map<std::string_view, OnnxRule> all;
    for (const auto* table :
         {&onnx_elementwise_rules(), &onnx_product_rules(), &onnx_window_rules(),
          &onnx_layout_rules(), &onnx_selection_rules(), &onnx_source_rules()}) {
      for (const NamedOnnxRule& named : *table) all.emplace(named.op, named.rule);
    }
    return all;
  }();
  const auto found = rules.find(op);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace headroom::estimate
