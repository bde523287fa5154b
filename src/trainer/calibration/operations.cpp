// SPDX-License-Identifier: Apache-2.0
#include "trainer/calibration/operations.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "trainer/gradient_norm.h"
#include "trainer/ops/attention.h"
#include "trainer/ops/gelu.h"
#include "trainer/ops/layer_norm.h"
#include "trainer/ops/linear.h"
#include "trainer/ops/loss.h"
#include "trainer/ops/product.h"
#include "trainer/ops/rms_norm.h"
#include "trainer/ops/rotary.h"
#include "trainer/ops/swiglu.h"
#include "trainer/optimizer.h"

namespace headroom::trainer::calibration {
namespace {

using estimate::Operation;
using Act = std::function<void()>;
using Size = std::array<std::uint64_t, 3>;

constexpr double norm_eps = 1e-6;
// A step so small that measuring leaves the operands what they are.
constexpr double no_rate = 1e-12;

// [rows, at most `widest`]: numbers as the rows of a matrix.
std::array<std::int64_t, 2> as_rows(std::uint64_t numbers, std::int64_t widest) {
  const auto count = static_cast<std::int64_t>(numbers);
  const std::int64_t width = std::min(count, widest);
  return {count / width, width};
}

Act make_product(Operation operation, const Size& size, Pool& pool) {
  const auto rows = static_cast<std::int64_t>(size[0]);
  const auto inner = static_cast<std::int64_t>(size[1]);
  const auto columns = static_cast<std::int64_t>(size[2]);
  if (operation == Operation::product_forward)
    return [=, &pool] { ops::product(pool.take({rows, inner}), pool.take({columns, inner}).t()); };
  if (operation == Operation::product_input)
    return [=, &pool] { ops::product(pool.take({rows, inner}), pool.take({inner, columns})); };
  return [=, &pool] {
    Parameter parameter{"", pool.take({rows, columns}), {}, true};
    add_product_to_gradient(parameter, pool.take({inner, rows}).t(), pool.take({inner, columns}));
  };
}

Act make_attention(Operation operation, const Size& size, Pool& pool) {
  const auto sequence = static_cast<std::int64_t>(size[0]);
  const auto dim = static_cast<std::int64_t>(size[1]);
  const ops::AttentionShape shape{.batch = 1,
                                  .sequence = sequence,
                                  .heads = heads_at_once,
                                  .kv_heads = heads_at_once,
                                  .head_dim = dim};
  const bool math = operation >= Operation::math_forward;
  const auto take = [&pool, sequence, dim] { return pool.take({sequence, heads_at_once * dim}); };
  const auto forward = math ? ops::attention_math : ops::attention_efficient;
  if (operation == Operation::attention_forward || operation == Operation::math_forward)
    return [=] { forward({take(), take(), take()}, shape); };
  const ops::Qkv in{take(), take(), take()};
  const auto result = std::make_shared<ops::AttentionResult>(forward(in, shape));
  const auto backward = math ? ops::attention_math_backward : ops::attention_efficient_backward;
  return [=] { backward(take(), in, *result, shape); };
}

Act make_norm(Operation operation, std::uint64_t numbers, Pool& pool) {
  const auto shape = as_rows(numbers, 1024);
  const auto weight =
      std::make_shared<Parameter>(Parameter{"", at::ones({shape[1]}, pool.dtype()), {}, true});
  if (operation == Operation::norm)
    return [=, &pool] { ops::rms_norm(pool.take(shape), weight->value, norm_eps); };
  const at::Tensor rstd = ops::rms_norm(pool.take(shape), weight->value, norm_eps).stats;
  return [=, &pool] {
    at::Tensor grad = pool.take(shape);
    ops::rms_norm_backward_(grad, pool.take(shape), rstd, *weight);
  };
}

Act make_layer_norm(Operation operation, std::uint64_t numbers, Pool& pool) {
  const auto shape = as_rows(numbers, 1024);
  const auto weight =
      std::make_shared<Parameter>(Parameter{"", at::ones({shape[1]}, pool.dtype()), {}, true});
  const auto bias =
      std::make_shared<Parameter>(Parameter{"", at::zeros({shape[1]}, pool.dtype()), {}, true});
  if (operation == Operation::layer_norm)
    return [=, &pool] { ops::layer_norm(pool.take(shape), weight->value, bias->value, norm_eps); };
  const at::Tensor stats =
      ops::layer_norm(pool.take(shape), weight->value, bias->value, norm_eps).stats;
  return [=, &pool] {
    at::Tensor grad = pool.take(shape);
    ops::layer_norm_backward_(grad, pool.take(shape), stats, *weight, *bias);
  };
}

Act make_loss(std::uint64_t numbers, Pool& pool) {
  const auto shape = as_rows(numbers, 4096);
  const at::Tensor targets = at::zeros({shape[0]}, at::kLong);
  return [=, &pool] {
    at::Tensor logits = pool.take(shape);
    ops::cross_entropy_(logits, targets, 1);
  };
}

Act make_rotary(std::uint64_t numbers, Pool& pool) {
  constexpr std::int64_t dim = 64;
  const auto shape = as_rows(numbers, 4 * dim);
  const std::int64_t sequence = std::min<std::int64_t>(shape[0], 512);
  const auto tables = ops::rotary_tables(sequence, dim, 1e4, pool.dtype());
  return [=, &pool] {
    at::Tensor x = pool.take({shape[0] / sequence * sequence, shape[1]});
    ops::rotary_(x, tables, ops::equal_segments(x.size(0) / sequence, sequence));
  };
}

Act make_swiglu(Operation operation, std::uint64_t numbers, Pool& pool) {
  const auto shape = as_rows(numbers, 1024);
  if (operation == Operation::swiglu)
    return [=, &pool] { ops::swiglu(pool.take(shape), pool.take(shape)); };
  return [=, &pool] {
    at::Tensor grad = pool.take(shape);
    ops::swiglu_backward_(grad, pool.take(shape), pool.take(shape));
  };
}

Act make_gelu(Operation operation, std::uint64_t numbers, Pool& pool) {
  const auto shape = as_rows(numbers, 1024);
  if (operation == Operation::gelu) return [=, &pool] { ops::gelu(pool.take(shape)); };
  return [=, &pool] {
    at::Tensor grad = pool.take(shape);
    ops::gelu_backward_(grad, pool.take(shape));
  };
}

Act make_embedding(Operation operation, std::uint64_t numbers, Pool& pool) {
  const auto shape = as_rows(numbers, 1024);
  constexpr std::int64_t vocabulary = 2048;
  const auto options = at::TensorOptions().dtype(at::kLong);
  const at::Tensor ids = at::arange(shape[0], options).mul_(7919).remainder_(vocabulary);
  const at::Tensor table = pool.take({vocabulary, shape[1]});
  if (operation == Operation::embed) return [=] { at::index_select(table, 0, ids); };
  return [=, &pool] {
    at::Tensor grad = table;
    grad.index_add_(0, ids, pool.take(shape));
  };
}

// As ops/linear.cpp: a mask is drawn, and what it hides is cleared in a copy.
Act make_dropout(std::uint64_t numbers, Pool& pool) {
  const auto shape = as_rows(numbers, 1024);
  const auto generator = at::detail::createCPUGenerator(1);
  return [=, &pool] {
    const at::Tensor x = pool.take(shape);
    const at::Tensor dropped = at::empty(shape, x.options().dtype(at::kBool));
    dropped.bernoulli_(0.1, generator);
    x.clone().masked_fill_(dropped, 0).mul_(1.1);
  };
}

OptimizerSettings settings_of(Operation operation) {
  switch (operation) {
    case Operation::adamw:
      return AdamWSettings{.learning_rate = no_rate};
    case Operation::adamw8bit:
      return AdamWSettings{.learning_rate = no_rate, .in_bytes = true};
    case Operation::sgd:
      return SgdSettings{.learning_rate = no_rate};
    case Operation::sgd_momentum:
      return SgdSettings{.learning_rate = no_rate, .momentum = 0.9};
    default:
      return AdafactorSettings{.learning_rate = no_rate};
  }
}

Act make_update(Operation operation, std::uint64_t numbers, Pool& pool) {
  const auto shape = as_rows(numbers, 1024);
  const auto parameters = std::make_shared<std::deque<Parameter>>(1);
  parameters->front().value = pool.take(shape);
  parameters->front().trainable = true;
  if (operation == Operation::gradient_norm)
    return [=, &pool] {
      parameters->front().grad = pool.take(shape);
      gradient_norm(*parameters);
    };
  const std::shared_ptr<Optimizer> optimizer = make_optimizer(*parameters, settings_of(operation));
  return [=, &pool] {
    parameters->front().value = pool.take(shape);
    parameters->front().grad = pool.take(shape);
    optimizer->step();
  };
}

}  // namespace

estimate::Grid::Axes axes_of(Operation operation) {
  switch (estimate::size_count(operation)) {
    case 3:
      return {{8, 32, 128, 512, 2048}, {16, 64, 256, 1024}, {16, 64, 256, 1024}};
    case 2:
      return {{32, 128, 512, 1024}, {32, 64, 128}};
    default:
      return {{1U << 10U, 1U << 13U, 1U << 16U, 1U << 19U, 1U << 22U}};
  }
}

std::function<void()> make_operation(Operation operation, const Size& size, Pool& pool) {
  switch (operation) {
    case Operation::product_forward:
    case Operation::product_input:
    case Operation::product_weight:
      return make_product(operation, size, pool);
    case Operation::attention_forward:
    case Operation::attention_backward:
    case Operation::math_forward:
    case Operation::math_backward:
      return make_attention(operation, size, pool);
    case Operation::norm:
    case Operation::norm_backward:
      return make_norm(operation, size[0], pool);
    case Operation::layer_norm:
    case Operation::layer_norm_backward:
      return make_layer_norm(operation, size[0], pool);
    case Operation::rotary:
      return make_rotary(size[0], pool);
    case Operation::swiglu:
    case Operation::swiglu_backward:
      return make_swiglu(operation, size[0], pool);
    case Operation::gelu:
    case Operation::gelu_backward:
      return make_gelu(operation, size[0], pool);
    case Operation::cross_entropy:
      return make_loss(size[0], pool);
    case Operation::add:
      return [shape = as_rows(size[0], 1024), &pool] { pool.take(shape).add_(pool.take(shape)); };
    case Operation::dropout:
      return make_dropout(size[0], pool);
    case Operation::embed:
    case Operation::embed_backward:
      return make_embedding(operation, size[0], pool);
    default:
      return make_update(operation, size[0], pool);
  }
}

}  // namespace headroom::trainer::calibration
