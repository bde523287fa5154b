// SPDX-License-Identifier: Apache-2.0
// Matrix products, recurrent layers and attention.
#include <algorithm>
#include <utility>

#include "estimate/files/onnx_rules.h"

namespace headroom::estimate {
namespace {

std::optional<OnnxShape> product_shape(OnnxShape a, OnnxShape b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const bool a_row = a.size() == 1;
  const bool b_column = b.size() == 1;
  if (a_row) a.insert(a.begin(), 1);
  if (b_column) b.push_back(1);
  if (a.back() != b[b.size() - 2]) return std::nullopt;
  const std::uint64_t rows = a[a.size() - 2];
  const std::uint64_t columns = b.back();
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  auto shape = broadcast(a, b);
  if (!shape) return std::nullopt;
  if (!a_row) shape->push_back(rows);
  if (!b_column) shape->push_back(columns);
  return shape;
}

std::vector<OnnxFact> product(const OnnxCall& call, std::size_t b, std::uint64_t type) {
  if (call.shape(0) == nullptr || call.shape(b) == nullptr) return {};
  return {{type, product_shape(*call.shape(0), *call.shape(b)), {}}};
}

std::vector<OnnxFact> matmul(const OnnxCall& call) {
  return product(call, 1, call.type(0));
}

std::vector<OnnxFact> matmul_integer(const OnnxCall& call) {
  return product(call, 1, 6);  // INT32
}

// a, its scale and zero point, b, its scale and zero point, the output's scale and zero point.
std::vector<OnnxFact> quantized_matmul(const OnnxCall& call) {
  return product(call, 3, call.type(7));
}

// com.microsoft: either side's last two dimensions may be swapped.
std::vector<OnnxFact> fused_matmul(const OnnxCall& call) {
  if (call.shape(0) == nullptr || call.shape(1) == nullptr) return {};
  OnnxShape a = *call.shape(0);
  OnnxShape b = *call.shape(1);
  if (call.whole("transA", 0) != 0 && a.size() > 1) std::swap(a.back(), a[a.size() - 2]);
  if (call.whole("transB", 0) != 0 && b.size() > 1) std::swap(b.back(), b[b.size() - 2]);
  return {{call.type(0), product_shape(a, b), {}}};
}

std::vector<OnnxFact> gemm(const OnnxCall& call) {
  const OnnxShape* a = call.shape(0);
  const OnnxShape* b = call.shape(1);
  if (a == nullptr || b == nullptr || a->size() != 2 || b->size() != 2) return {};
  const std::uint64_t rows = call.whole("transA", 0) != 0 ? (*a)[1] : (*a)[0];
  const std::uint64_t columns = call.whole("transB", 0) != 0 ? (*b)[0] : (*b)[1];
  return {{call.type(0), OnnxShape{rows, columns}, {}}};
}

// Letters are dimensions: "bij,bjk->bik". With no arrow the output has those that occur once.
std::vector<OnnxFact> einsum(const OnnxCall& call) {
  std::string equation = call.text("equation");
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) return {};
  std::map<char, std::uint64_t> sizes;
  std::size_t input = 0;
  std::size_t position = 0;
  for (std::size_t i = 0; i <= arrow; ++i) {
    if (i == arrow || equation[i] == ',') {
      const OnnxShape* shape = call.shape(input);
      if (shape == nullptr || shape->size() != position) return {};
      ++input;
      position = 0;
      continue;
    }
    const OnnxShape* shape = call.shape(input);
    if (shape == nullptr || position >= shape->size()) return {};
    std::uint64_t& size = sizes[equation[i]];
    size = std::max(size, (*shape)[position++]);
  }
  OnnxShape result;
  for (const char letter : equation.substr(arrow + 2)) {
    if (!sizes.contains(letter)) return {};
    result.push_back(sizes[letter]);
  }
  return {{call.type(0), result, {}}};
}

// X [steps, batch, inputs] → Y [steps, directions, batch, hidden] and the last states.
std::vector<OnnxFact> recurrent(const OnnxCall& call) {
  const OnnxShape* x = call.shape(0);
  const std::int64_t hidden = call.whole("hidden_size", 0);
  if (x == nullptr || x->size() != 3 || hidden <= 0) return {};
  const std::uint64_t directions = call.text("direction") == "bidirectional" ? 2 : 1;
  const auto width = static_cast<std::uint64_t>(hidden);
  const bool batch_first = call.whole("layout", 0) == 1;
  const std::uint64_t steps = batch_first ? (*x)[1] : (*x)[0];
  const std::uint64_t batch = batch_first ? (*x)[0] : (*x)[1];
  const OnnxFact last{call.type(0), OnnxShape{directions, batch, width}, {}};
  std::vector<OnnxFact> result = {{call.type(0), OnnxShape{steps, directions, batch, width}, {}}};
  while (result.size() < call.outputs()) result.push_back(last);
  return result;
}

}  // namespace

const std::vector<NamedOnnxRule>& onnx_product_rules() {
  static const std::vector<NamedOnnxRule> rules = {
      {"MatMul", matmul},
      {"MatMulInteger", matmul_integer},
      {"QLinearMatMul", quantized_matmul},
      {"FusedMatMul", fused_matmul},
      {"Gemm", gemm},
      {"FusedGemm", gemm},
      {"Einsum", einsum},
      {"LSTM", recurrent},
      {"GRU", recurrent},
      {"RNN", recurrent},
  };
  return rules;
}

}  // namespace headroom::estimate
