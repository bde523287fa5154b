// SPDX-License-Identifier: Apache-2.0
// The numbers that a model without files begins with: Model::initialise_base() and
// initialise_adapters().
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "trainer/model.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

bool writes_residual(const std::string& name) {
  return name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight") ||
         name.ends_with("c_proj.weight");
}

bool is_norm_weight(const std::string& name) {
  return name.ends_with("norm.weight") || name.ends_with("ln_1.weight") ||
         name.ends_with("ln_2.weight") || name.ends_with("ln_f.weight");
}

// Random numbers are the processor's, so that a seed gives the same ones wherever the model is.
template <class Draw>
void draw(const at::Tensor& value, const Draw& into) {
  if (value.is_cpu()) return into(value);
  const at::Tensor drawn = at::empty(value.sizes(), value.options().device(at::kCPU));
  into(drawn);
  value.copy_(drawn);
}

}  // namespace

void Model::initialise_base(std::uint64_t seed) {
  const double residual = 1.0 / std::sqrt(2.0 * static_cast<double>(config_.layers));
  const std::uint64_t tables = config_.is_gpt2() ? 2 : 1;
  const std::uint64_t before = part_.is_first() ? 0 : tables + part_.first_layer * base_in_layer_;
  std::uint64_t next = before;
  at::Tensor whole;  // A matrix that is quantised when the last of its rows are there.
  for (Parameter& parameter : base_) {
    ++next;
    const std::uint64_t use = parameter.is_copy ? 1 : next;  // The embedding is the first of all.
    if (is_norm_weight(parameter.name)) {
      parameter.value.fill_(config_.gemma ? 0 : 1);
      continue;
    }
    if (parameter.name.ends_with(".bias")) {
      parameter.value.zero_();
      continue;
    }
    const double deviation = writes_residual(parameter.name) ? 0.02 * residual : 0.02;
    const at::Generator generator = at::detail::createCPUGenerator(mix_seed(seed, use));
    const auto& [matrix, first, rows] = parameter.quantised;
    if (matrix == nullptr) {
      draw(parameter.value,
           [&](const at::Tensor& value) { value.normal_(0, deviation, generator); });
      continue;
    }
    const TagScope scope(allocator::Component::workspace);
    if (first == 0) whole = at::empty({matrix->rows(), matrix->columns()}, options_.dtype);
    whole.narrow(0, first, rows).normal_(0, deviation, generator);
    if (first + rows < matrix->rows()) continue;
    Quantiser quantiser(*matrix);
    quantiser.add(whole);
    quantiser.finish();
    whole.reset();
  }
}

void Model::initialise_adapters(std::uint64_t seed) {
  std::uint64_t use = part_.first_layer * adapters_in_layer_;
  for (Parameter& parameter : adapters_) {
    ++use;
    if (parameter.name.ends_with("lora_B.weight")) {
      parameter.value.zero_();
      continue;
    }
    const double bound = 1.0 / std::sqrt(static_cast<double>(parameter.value.size(1)));
    draw(parameter.value, [&](const at::Tensor& value) {
      value.uniform_(-bound, bound, at::detail::createCPUGenerator(mix_seed(seed, use)));
    });
  }
}

}  // namespace headroom::trainer
