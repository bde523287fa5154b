// SPDX-License-Identifier: Apache-2.0
// The operations that Gemma has and the others have not, as ops_test.cpp: by themselves against the
// plain formula under libtorch's autograd, in fp64, and in fp32, where kernels compute them.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <cmath>

#include "trainer/ops/attention.h"
#include "trainer/ops/geglu.h"
#include "trainer/ops/loss.h"
#include "trainer/ops/rms_norm.h"

namespace headroom::trainer::ops {
namespace {

at::Tensor made_up(at::IntArrayRef shape, at::ScalarType dtype) {
  static const at::Generator generator = at::detail::createCPUGenerator(9);
  return at::randn(shape, generator, at::kDouble).to(dtype);
}

at::Tensor leaf_of(const at::Tensor& value) {
  return value.detach().clone().set_requires_grad(true);
}

void expect_near(const at::Tensor& found, const at::Tensor& expected, double tolerance) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  EXPECT_LE((found - expected).abs().max().item<double>(), tolerance);
}

TEST(GemmaNorm, value_and_gradients_match_autograd_across_blocks) {
  for (const auto dtype : {at::kDouble, at::kFloat}) {
    const double tolerance = dtype == at::kDouble ? 1e-11 : 2e-4;
    const std::int64_t width = 3000;  // Three blocks of 87 rows.
    const at::Tensor x = made_up({200, width}, dtype);
    const at::Tensor grad = made_up({200, width}, dtype);
    Parameter weight{"w", made_up({width}, dtype), {}, true};
    const at::Tensor before = weight.value.clone();
    const at::Tensor x_leaf = leaf_of(x), w_leaf = leaf_of(weight.value);
    const at::Tensor expected =
        x_leaf * at::rsqrt((x_leaf * x_leaf).mean(1, true) + 1e-3) * (1 + w_leaf);
    expected.backward(grad);
    const NormResult result = rms_norm(x, weight.value, 1e-3, /*unit_offset=*/true);
    expect_near(result.out, expected, tolerance);
    at::Tensor dx = grad.clone();
    rms_norm_backward_(dx, x, result.stats, weight, /*unit_offset=*/true);
    expect_near(dx, x_leaf.grad(), tolerance);
    expect_near(weight.grad, w_leaf.grad(), tolerance);
    EXPECT_TRUE(at::equal(weight.value, before));
  }
}

// bf16 would lose a small weight beside the 1, and rounds only what comes out.
TEST(GemmaNorm, adds_the_one_in_fp32) {
  const at::Tensor x = made_up({5, 64}, at::kBFloat16);
  const at::Tensor weight = at::full({64}, 0.001, at::kBFloat16);
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor expected =
      wide * at::rsqrt((wide * wide).mean(1, true) + 1e-6) * (1 + weight.to(at::kFloat));
  EXPECT_TRUE(at::equal(rms_norm(x, weight, 1e-6, true).out, expected.to(at::kBFloat16)));
}

TEST(GeGlu, value_and_gradients_match_autograd) {
  for (const auto dtype : {at::kDouble, at::kFloat}) {
    const double tolerance = dtype == at::kDouble ? 1e-11 : 1e-5;
    const at::Tensor gate = leaf_of(made_up({30, 70}, dtype) * 3);
    const at::Tensor up = leaf_of(made_up({30, 70}, dtype));
    const at::Tensor grad = made_up({30, 70}, dtype);
    const at::Tensor expected = at::gelu(gate, "tanh") * up;
    expected.backward(grad);
    expect_near(geglu(gate.detach(), up.detach()), expected, tolerance);
    at::Tensor dgate = grad.clone();
    const at::Tensor dup = geglu_backward_(dgate, gate.detach(), up.detach());
    expect_near(dgate, gate.grad(), tolerance);
    expect_near(dup, up.grad(), tolerance);
  }
}

at::Tensor capped_attention(const Qkv& in, const AttentionShape& s) {
  const auto split = [&](const at::Tensor& rows, std::int64_t heads) {
    return rows.view({s.batch, s.sequence, heads, s.head_dim}).transpose(1, 2);
  };
  const std::int64_t group = s.heads / s.kv_heads;
  const at::Tensor k = split(in.k, s.kv_heads).repeat_interleave(group, 1);
  const at::Tensor v = split(in.v, s.kv_heads).repeat_interleave(group, 1);
  at::Tensor scores =
      at::matmul(split(in.q, s.heads), k.transpose(2, 3)) /
      std::sqrt(s.query_scalar > 0 ? s.query_scalar : static_cast<double>(s.head_dim));
  if (s.cap > 0) scores = s.cap * at::tanh(scores / s.cap);
  const at::Tensor distance = at::arange(s.sequence).unsqueeze(1) - at::arange(s.sequence);
  at::Tensor hidden = distance < 0;
  if (s.window > 0) hidden = hidden.logical_or(distance >= s.window);
  const at::Tensor weights = at::softmax(scores.masked_fill(hidden, -INFINITY), -1);
  return at::matmul(weights, v).transpose(1, 2).reshape({s.batch * s.sequence, -1});
}

void expect_capped_attention(const AttentionShape& s, at::ScalarType dtype, double tolerance) {
  const std::int64_t rows = s.batch * s.sequence;
  Qkv leaves{leaf_of(made_up({rows, s.heads * s.head_dim}, dtype)),
             leaf_of(made_up({rows, s.kv_heads * s.head_dim}, dtype)),
             leaf_of(made_up({rows, s.kv_heads * s.head_dim}, dtype))};
  const at::Tensor grad = made_up({rows, s.heads * s.head_dim}, dtype);
  const at::Tensor expected = capped_attention(leaves, s);
  expected.backward(grad);
  const Qkv in{leaves.q.detach(), leaves.k.detach(), leaves.v.detach()};
  const AttentionResult math = attention_math(in, s);
  const AttentionResult efficient = attention_efficient(in, s);
  expect_near(math.out, expected, tolerance);
  expect_near(efficient.out, expected, tolerance);
  for (const Qkv& grads : {attention_math_backward(grad, in, math, s),
                           attention_efficient_backward(grad, in, efficient, s)}) {
    expect_near(grads.q, leaves.q.grad(), tolerance);
    expect_near(grads.k, leaves.k.grad(), tolerance);
    expect_near(grads.v, leaves.v.grad(), tolerance);
  }
}

// Below, at and across the block of query rows, with windows, grouped heads and caps that bend all
// scores, some, or hardly any.
TEST(CappedAttention, both_variants_match_autograd) {
  for (const double cap : {0.3, 2.0, 50.0}) {
    for (const AttentionShape& s :
         {AttentionShape{2, 1, 2, 2, 4}, AttentionShape{3, 17, 4, 2, 6},
          AttentionShape{2, 128, 3, 1, 4}, AttentionShape{1, 300, 2, 2, 8},
          AttentionShape{2, 200, 4, 2, 6, /*window=*/50}}) {
      AttentionShape capped = s;
      capped.cap = cap;
      expect_capped_attention(capped, at::kDouble, 1e-11);
      expect_capped_attention(capped, at::kFloat, 2e-4);
    }
  }
}

TEST(CappedAttention, scores_are_divided_by_what_the_model_says) {
  AttentionShape s{3, 17, 4, 2, 6};
  s.query_scalar = 25;
  expect_capped_attention(s, at::kDouble, 1e-11);
}

TEST(CappedAttention, scores_beyond_every_number_are_capped) {
  const AttentionShape s{1, 130, 1, 1, 4, 0, 0, /*cap=*/50};
  const Qkv in{at::full({130, 4}, 1e18), at::full({130, 4}, 1e18), at::ones({130, 4})};
  const at::Tensor grad = at::ones({130, 4});
  const AttentionResult math = attention_math(in, s), efficient = attention_efficient(in, s);
  for (const at::Tensor& out : {math.out, efficient.out}) EXPECT_TRUE(at::allclose(out, in.v));
  for (const Qkv& grads : {attention_math_backward(grad, in, math, s),
                           attention_efficient_backward(grad, in, efficient, s)})
    EXPECT_TRUE(at::equal(grads.q, at::zeros({130, 4})));
}

TEST(CappedLoss, eager_and_chunked_match_autograd) {
  for (const auto dtype : {at::kDouble, at::kFloat}) {
    const double tolerance = dtype == at::kDouble ? 1e-9 : 2e-3;
    const at::Tensor x = leaf_of(made_up({400, 6}, dtype));
    const at::Tensor weight = leaf_of(made_up({900, 6}, dtype));
    at::Tensor targets = at::arange(400, at::kLong) * 7 % 900;
    targets.narrow(0, 30, 50).fill_(ignored_target);
    const at::Tensor logits = 1.7 * at::tanh(at::matmul(x, weight.t()) / 1.7);
    const at::Tensor loss =
        at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum, ignored_target);
    (loss * 0.3).backward();
    for (const auto compute : {eager_loss, chunked_loss}) {
      Parameter head{"head", weight.detach(), {}, true};
      const LossResult result = compute({x.detach(), targets, 0.3, 1.7}, head);
      EXPECT_NEAR(result.sum, loss.item<double>(), tolerance);
      expect_near(result.dx, x.grad(), tolerance);
      expect_near(head.grad, weight.grad(), tolerance);
    }
    const Parameter head{"head", weight.detach(), {}, true};
    EXPECT_NEAR(evaluate_loss({x.detach(), targets, 1, 1.7}, head), loss.item<double>(), tolerance);
    at::Tensor capped = at::matmul(x.detach(), weight.detach().t());
    soft_cap_(capped, 1.7);
    expect_near(capped, logits, 1e-6);
  }
}

}  // namespace
}  // namespace headroom::trainer::ops
