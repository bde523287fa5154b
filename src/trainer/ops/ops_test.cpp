// SPDX-License-Identifier: Apache-2.0
// Each operation by itself against the plain formula under libtorch's autograd, in fp64.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "trainer/ops/attention.h"
#include "trainer/ops/gelu.h"
#include "trainer/ops/layer_norm.h"
#include "trainer/ops/linear.h"
#include "trainer/ops/loss.h"
#include "trainer/ops/product.h"
#include "trainer/ops/rms_norm.h"
#include "trainer/ops/rotary.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/ops/swiglu.h"

namespace headroom::trainer::ops {
namespace {

at::Tensor random(at::IntArrayRef shape) {
  return at::randn(shape, at::kDouble);
}

at::Tensor leaf(const at::Tensor& value) {
  return value.detach().clone().set_requires_grad(true);
}

void expect_close(const at::Tensor& found, const at::Tensor& expected, double tolerance = 1e-11) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  EXPECT_LE((found - expected).abs().max().item<double>(), tolerance);
}

TEST(Product, writes_adds_and_scales_into_any_strides) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const at::Tensor left = random({700, 40}).to(dtype);
    const at::Tensor right = random({30, 40}).to(dtype).t();
    const at::Tensor exact = at::mm(left.to(at::kDouble), right.to(at::kDouble));
    const double tolerance = dtype == at::kBFloat16 ? 0.2 : 1e-4;
    expect_close(product(left, right).to(at::kDouble), exact, tolerance);
    at::Tensor whole = at::ones({30, 700}, dtype);
    product_(whole.t(), left, right, {.beta = 1, .alpha = -2});
    expect_close(whole.t().to(at::kDouble), 1 - 2 * exact, 2 * tolerance);
    at::Tensor wide_out = at::full({700, 30}, NAN, wide(dtype));
    product_(wide_out, left, right);
    expect_close(wide_out.to(at::kDouble), exact, 1e-4);
  }
}

TEST(Product, blocks_of_bf16_meet_without_gaps) {
  const at::Tensor left = random({1100, 3}).to(at::kBFloat16);
  const at::Tensor right = random({3, 1030}).to(at::kBFloat16);
  const at::Tensor exact = at::mm(left.to(at::kFloat), right.to(at::kFloat)).to(at::kBFloat16);
  EXPECT_TRUE(at::equal(product(left, right), exact));
}

TEST(RmsNorm, value_and_gradients_match_autograd_across_blocks) {
  const std::int64_t width = 3000;  // Three blocks of 87 rows.
  const at::Tensor x = random({200, width});
  const at::Tensor grad = random({200, width});
  Parameter weight{"w", random({width}), {}, true};
  const at::Tensor x_leaf = leaf(x);
  const at::Tensor w_leaf = leaf(weight.value);
  const at::Tensor expected = x_leaf * at::rsqrt((x_leaf * x_leaf).mean(1, true) + 1e-3) * w_leaf;
  expected.backward(grad);

  const NormResult result = rms_norm(x, weight.value, 1e-3);
  expect_close(result.out, expected);
  at::Tensor dx = grad.clone();
  rms_norm_backward_(dx, x, result.stats, weight);
  expect_close(dx, x_leaf.grad());
  expect_close(weight.grad, w_leaf.grad());

  weight.trainable = false;
  dx = grad.clone();
  rms_norm_backward_(dx, x, result.stats, weight);
  expect_close(dx, x_leaf.grad());
  expect_close(weight.grad, w_leaf.grad());
}

// In fp64 by blocks and in fp32 by kernels, beside libtorch's.
TEST(LayerNorm, value_and_gradients_match_autograd_across_blocks) {
  for (const auto dtype : {at::kDouble, at::kFloat}) {
    const std::int64_t width = 3000;  // Three blocks of 87 rows.
    const at::Tensor x = random({200, width}).add_(3).to(dtype);
    const at::Tensor grad = random({200, width}).to(dtype);
    Parameter weight{"w", random({width}).to(dtype), {}, true};
    Parameter bias{"b", random({width}).to(dtype), {}, true};
    const at::Tensor x_leaf = leaf(x);
    const at::Tensor w_leaf = leaf(weight.value);
    const at::Tensor b_leaf = leaf(bias.value);
    const at::Tensor expected = at::layer_norm(x_leaf, {width}, w_leaf, b_leaf, 1e-3);
    expected.backward(grad);
    const double tolerance = dtype == at::kDouble ? 1e-10 : 2e-4;

    const NormResult result = layer_norm(x, weight.value, bias.value, 1e-3);
    expect_close(result.out, expected, tolerance);
    at::Tensor dx = grad.clone();
    layer_norm_backward_(dx, x, result.stats, weight, bias);
    expect_close(dx, x_leaf.grad(), tolerance);
    expect_close(weight.grad, w_leaf.grad(), tolerance);
    expect_close(bias.grad, b_leaf.grad(), tolerance);

    weight.trainable = bias.trainable = false;
    dx = grad.clone();
    layer_norm_backward_(dx, x, result.stats, weight, bias);
    expect_close(dx, x_leaf.grad(), tolerance);
    expect_close(weight.grad, w_leaf.grad(), tolerance);
  }
}

TEST(Gelu, value_and_gradient_match_autograd) {
  for (const auto dtype : {at::kDouble, at::kFloat}) {
    const at::Tensor x = leaf((random({30, 70}) * 4).to(dtype));
    const at::Tensor expected = at::gelu(x, "tanh");
    const at::Tensor grad = random({30, 70}).to(dtype);
    expected.backward(grad);
    const double tolerance = dtype == at::kDouble ? 1e-10 : 1e-5;
    expect_close(ops::gelu(x.detach()), expected, tolerance);
    at::Tensor dx = grad.clone();
    gelu_backward_(dx, x.detach());
    expect_close(dx, x.grad(), tolerance);
  }
}

// transformers: q·cos + rotate_half(q)·sin with the angles repeated for both halves.
TEST(Rotary, follows_the_convention_of_hugging_face_and_its_inverse_undoes_it) {
  const std::int64_t sequence = 5;
  const std::int64_t dim = 6;
  const RotaryTables tables = rotary_tables(9, dim, 10000, at::kDouble);
  const at::Tensor x = random({2 * sequence, 3 * dim});
  const at::Tensor heads = x.view({2, sequence, 3, dim});
  const at::Tensor half = at::outer(
      at::arange(sequence, at::kDouble),
      at::pow(10000, at::arange(0, dim, 2, at::kDouble) / static_cast<double>(dim)).reciprocal());
  const at::Tensor angle = at::cat({half, half}, 1).unsqueeze(1);
  const at::Tensor turned =
      at::cat({heads.narrow(3, dim / 2, dim / 2).neg(), heads.narrow(3, 0, dim / 2)}, 3);
  at::Tensor rotated = x.clone();
  rotary_(rotated, tables, equal_segments(2, sequence));
  expect_close(rotated, (heads * angle.cos() + turned * angle.sin()).view_as(x));
  rotary_backward_(rotated, tables,
                   equal_segments(2, sequence));  // A rotation's transpose is its inverse.
  expect_close(rotated, x);
}

TEST(SwiGlu, value_and_gradients_match_autograd) {
  const at::Tensor gate = leaf(random({7, 11}));
  const at::Tensor up = leaf(random({7, 11}));
  const at::Tensor grad = random({7, 11});
  const at::Tensor expected = gate * at::sigmoid(gate) * up;
  expected.backward(grad);
  expect_close(swiglu(gate.detach(), up.detach()), expected);
  at::Tensor dgate = grad.clone();
  const at::Tensor dup = swiglu_backward_(dgate, gate.detach(), up.detach());
  expect_close(dgate, gate.grad());
  expect_close(dup, up.grad());
}

at::Tensor plain_attention(const Qkv& in, const AttentionShape& s) {
  const auto split = [&](const at::Tensor& rows, std::int64_t heads) {
    return rows.view({s.batch, s.sequence, heads, s.head_dim}).transpose(1, 2);
  };
  const std::int64_t group = s.heads / s.kv_heads;
  const at::Tensor k = split(in.k, s.kv_heads).repeat_interleave(group, 1);
  const at::Tensor v = split(in.v, s.kv_heads).repeat_interleave(group, 1);
  const at::Tensor scores = at::matmul(split(in.q, s.heads), k.transpose(2, 3)) /
                            std::sqrt(static_cast<double>(s.head_dim));
  const at::Tensor future = at::ones({s.sequence, s.sequence}, at::kBool).triu(1);
  const at::Tensor weights = at::softmax(scores.masked_fill(future, -INFINITY), -1);
  return at::matmul(weights, v).transpose(1, 2).reshape({s.batch * s.sequence, -1});
}

TEST(Attention, both_variants_match_autograd) {
  // Below, at and across the block of query rows; grouped, single and equal key/value heads.
  for (const AttentionShape& s :
       {AttentionShape{2, 1, 2, 2, 4}, AttentionShape{3, 17, 4, 2, 6},
        AttentionShape{2, 128, 3, 1, 4}, AttentionShape{1, 300, 2, 2, 8}}) {
    const std::int64_t rows = s.batch * s.sequence;
    Qkv leaves{leaf(random({rows, s.heads * s.head_dim})),
               leaf(random({rows, s.kv_heads * s.head_dim})),
               leaf(random({rows, s.kv_heads * s.head_dim}))};
    const at::Tensor grad = random({rows, s.heads * s.head_dim});
    const at::Tensor expected = plain_attention(leaves, s);
    expected.backward(grad);
    const Qkv in{leaves.q.detach(), leaves.k.detach(), leaves.v.detach()};
    const AttentionResult math = attention_math(in, s);
    const AttentionResult efficient = attention_efficient(in, s);
    expect_close(math.out, expected);
    expect_close(efficient.out, expected);
    for (const Qkv& grads : {attention_math_backward(grad, in, math, s),
                             attention_efficient_backward(grad, in, efficient, s)}) {
      expect_close(grads.q, leaves.q.grad());
      expect_close(grads.k, leaves.k.grad());
      expect_close(grads.v, leaves.v.grad());
    }
  }
}

TEST(Attention, large_scores_do_not_overflow) {
  const AttentionShape s{1, 130, 1, 1, 4};
  const Qkv in{at::full({130, 4}, 1e4), at::full({130, 4}, 1e4), at::ones({130, 4})};
  for (const at::Tensor& out : {attention_math(in, s).out, attention_efficient(in, s).out}) {
    EXPECT_TRUE(at::allclose(out, in.v));
  }
}

struct LossCase {
  at::Tensor x, head, targets;
  at::Tensor dx, dhead;  // Expected.
  double sum = 0;
};

LossCase make_loss_case(double scale) {
  LossCase c{random({400, 6}), random({900, 6}), at::randint(900, {400}, at::kLong), {}, {}, 0};
  c.targets.narrow(0, 30, 50).fill_(ignored_target);
  const at::Tensor x = leaf(c.x);
  const at::Tensor head = leaf(c.head);
  const at::Tensor loss = at::cross_entropy_loss(at::matmul(x, head.t()), c.targets, {},
                                                 at::Reduction::Sum, ignored_target);
  (loss * scale).backward();
  c.sum = loss.item<double>();
  c.dx = x.grad();
  c.dhead = head.grad();
  return c;
}

TEST(Loss, eager_and_chunked_match_autograd_and_ignore_what_has_no_target) {
  const LossCase c = make_loss_case(0.3);
  for (const auto loss : {eager_loss, chunked_loss}) {
    Parameter head{"head", c.head, {}, true};
    const LossResult result = loss({c.x, c.targets, 0.3}, head);
    EXPECT_NEAR(result.sum, c.sum, 1e-9);
    expect_close(result.dx, c.dx);
    expect_close(head.grad, c.dhead);
    Parameter frozen{"head", c.head, {}, false};
    expect_close(loss({c.x, c.targets, 0.3}, frozen).dx, c.dx);
    EXPECT_FALSE(frozen.grad.defined());
  }
  EXPECT_NEAR(evaluate_loss({c.x, c.targets, 1}, {"head", c.head, {}, true}), c.sum, 1e-9);
}

TEST(Loss, huge_logits_do_not_overflow) {
  at::Tensor logits = at::tensor({1e30, -1e30, 0.0}, at::kFloat).view({1, 3});
  EXPECT_NEAR(cross_entropy_(logits, at::zeros({1}, at::kLong), 1), 0, 1e-6);
  EXPECT_TRUE(at::isfinite(logits).all().item<bool>());
}

// One layer's parameters, with and without an adapter of another dtype than x.
TEST(Linear, bias_adapter_and_accumulation_match_autograd) {
  Parameter w{"w", random({5, 4}), {}, true};
  Parameter bias{"b", random({5}), {}, true};
  Parameter a{"a", random({2, 4}), {}, true};
  Parameter b{"b", random({5, 2}), {}, true};
  const Linear layer{&w, &bias, Adapter{&a, &b, 1.5, 0}};
  const at::Tensor x = random({9, 4});
  const at::Tensor grad = random({9, 5});
  const at::Tensor lx = leaf(x), lw = leaf(w.value), lb = leaf(bias.value), la = leaf(a.value),
                   lbb = leaf(b.value);
  const at::Tensor expected =
      at::matmul(lx, lw.t()) + lb + 1.5 * at::matmul(at::matmul(lx, la.t()), lbb.t());
  expected.backward(grad);

  LinearSaved saved;
  expect_close(linear(layer, x, saved, 1), expected);
  at::Tensor dx;
  linear_backward(layer, grad, x, saved, &dx);
  expect_close(dx, lx.grad());
  linear_backward(layer, grad, x, saved, &dx);  // Adds to everything that is there.
  expect_close(dx, 2 * lx.grad());
  expect_close(w.grad, 2 * lw.grad());
  expect_close(bias.grad, 2 * lb.grad());
  expect_close(a.grad, 2 * la.grad());
  expect_close(b.grad, 2 * lbb.grad());
}

TEST(Linear, gradients_of_fp32_adapters_under_bf16_are_fp32) {
  Parameter w{"w", random({5, 4}).to(at::kBFloat16), {}, false};
  Parameter a{"a", random({2, 4}).to(at::kFloat), {}, true};
  Parameter b{"b", random({5, 2}).to(at::kFloat), {}, true};
  const Linear layer{&w, nullptr, Adapter{&a, &b, 1.0, 0}};
  const at::Tensor x = random({9, 4}).to(at::kBFloat16);
  LinearSaved saved;
  linear(layer, x, saved, 1);
  linear_backward(layer, at::ones({9, 5}, at::kBFloat16), x, saved, nullptr);
  ASSERT_EQ(a.grad.scalar_type(), at::kFloat);
  const at::Tensor ones = at::ones({9, 5});
  const at::Tensor as_float = x.to(at::kFloat);
  const at::Tensor expected = at::mm(at::mm(ones, b.value).t(), as_float);
  // A product's error is bounded by the products of magnitudes, not by a sum that may cancel: b
  // rounded to bf16, and the product with it rounded once more, are each off by at most 2^-8.
  const at::Tensor magnitudes = at::mm(at::mm(ones, b.value.abs()).t(), as_float.abs());
  EXPECT_TRUE(((a.grad - expected).abs() <= 0.01 * magnitudes).all().item<bool>());
  EXPECT_FALSE(w.grad.defined());
}

}  // namespace
}  // namespace headroom::trainer::ops
