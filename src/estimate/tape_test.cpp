// SPDX-License-Identifier: Apache-2.0
#include "estimate/tape.h"

#include <gtest/gtest.h>

#include <map>

#include "estimate/ops.h"

namespace headroom::estimate {
namespace {

constexpr std::uint64_t unit = 16;  // Elements of the tensors here: 64 bytes in fp32.
const Meta row{{1, unit}, Element::fp32};

// The most bytes live at once, and how often a tensor whose name ends in `name` was allocated.
std::uint64_t peak_bytes(const Recording& recording) {
  std::uint64_t live = 0;
  std::uint64_t peak = 0;
  for (const Event& event : recording.events) {
    const std::uint64_t bytes = recording.tensors[event.tensor].meta.bytes();
    if (event.kind == Event::Kind::allocate) live += bytes;
    if (event.kind == Event::Kind::release) live -= bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

int count(const Recording& recording, const std::string& name) {
  int found = 0;
  for (std::uint32_t i = 0; i < recording.tensors.size(); ++i)
    found += recording.name_of(i).ends_with(name) ? 1 : 0;
  return found;
}

class TapeTest : public ::testing::Test {
 protected:
  Recorder recorder;
  Tape tape{recorder};

  Tensor weight(bool trainable) {
    return tape.parameter("weight", {{unit, unit}, Element::fp32}, Component::weights, trainable);
  }
  void run_back(const Tensor& y) { tape.backward(y, tape.empty("seed", y)); }
};

TEST_F(TapeTest, frozen_weight_keeps_no_input_and_gets_no_gradient) {
  {
    const Tensor x = Tape::detach(tape.empty("x", row), true);
    const Tensor y = ops::linear(tape, x, weight(false), std::nullopt, "y");
    ASSERT_EQ(y.node->saved.size(), 1U);  // The weight, for the input's gradient.
    EXPECT_EQ(y.node->saved[0].shape, (Shape{unit, unit}));
    run_back(y);
    EXPECT_TRUE(x.node->grad.has_value());
  }
  EXPECT_EQ(count(recorder.take(), "weight_grad"), 0);
}

TEST_F(TapeTest, trainable_weight_keeps_its_input) {
  const Tensor x = tape.empty("x", row);
  const Tensor w = weight(true);
  const Tensor y = ops::linear(tape, x, w, std::nullopt, "y");
  ASSERT_EQ(y.node->saved.size(), 1U);  // The input; nobody wants the input's gradient.
  EXPECT_EQ(y.node->saved[0].storage, x.storage);
  run_back(y);
  EXPECT_TRUE(w.node->grad.has_value());
}

TEST_F(TapeTest, a_weight_gradient_becomes_a_gradient_when_it_arrives) {
  {
    const Tensor w = weight(true);
    run_back(ops::linear(tape, tape.empty("x", row), w, std::nullopt, "y"));
  }
  const Recording recording = recorder.take();
  int retags = 0;
  for (const Event& event : recording.events) {
    if (event.kind != Event::Kind::retag) continue;
    ++retags;
    EXPECT_EQ(event.component, Component::gradients);
    EXPECT_EQ(recording.name_of(event.tensor), "y.weight_grad");
  }
  EXPECT_EQ(retags, 1);
}

TEST_F(TapeTest, every_allocation_is_released_exactly_once) {
  {
    const Tensor w = weight(true);
    const Tensor x = Tape::detach(tape.empty("x", row), true);
    Tensor y = ops::add(tape, x, ops::linear(tape, ops::silu(tape, x, "act"), w, std::nullopt, "y"),
                        "sum");
    y = ops::softmax(tape, ops::dropout(tape, y, 0.1, "dropped"), Element::fp32, "p");
    run_back(y);
  }
  tape.trainable().clear();  // Which holds the weight.
  const Recording recording = recorder.take();
  std::map<std::uint32_t, int> balance;
  for (const Event& event : recording.events) {
    if (event.kind == Event::Kind::allocate) ++balance[event.tensor];
    if (event.kind == Event::Kind::release) --balance[event.tensor];
  }
  for (const auto& [tensor, open] : balance) EXPECT_EQ(open, 0) << recording.name_of(tensor);
  EXPECT_EQ(balance.size(), recording.tensors.size());
}

TEST_F(TapeTest, second_gradient_is_added_in_place_unless_the_first_is_shared) {
  {
    const Tensor x = Tape::detach(tape.empty("x", row), true);
    const Tensor y = ops::silu(tape, x, "hidden");
    // Both gradients of `hidden` are new tensors: the second is added in place.
    run_back(ops::mul(tape, ops::silu(tape, y, "a"), ops::silu(tape, y, "b"), "product"));
  }
  EXPECT_EQ(count(recorder.take(), "gradient_sum"), 0);
  {
    const Tensor x = Tape::detach(tape.empty("x", row), true);
    const Tensor y = ops::silu(tape, x, "hidden");
    // x + f(x): the skip's gradient is the incoming one, which the test still holds.
    const Tensor z = ops::add(tape, y, ops::silu(tape, y, "f"), "sum");
    const Tensor seed = tape.empty("seed", z);
    tape.backward(z, seed);
  }
  EXPECT_EQ(count(recorder.take(), "gradient_sum"), 1);
}

// cuBLAS's for plain products, cuBLASLt's where a bias is added.
TEST(Tape, a_product_has_a_workspace_while_it_runs) {
  Recorder recorder;
  {
    Tape tape(recorder, {.plain = 1000, .with_bias = 100});
    const Tensor x = tape.empty("x", row);
    const Tensor w = tape.parameter("w", {{unit, unit}, Element::fp32}, Component::weights, true);
    const Tensor b = tape.parameter("b", {{unit}, Element::fp32}, Component::weights, true);
    const Tensor y = ops::linear(tape, x, w, b, "y");
    tape.backward(y, tape.empty("seed", y));  // One plain product: the weight's gradient.
  }
  const Recording recording = recorder.take();
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i + 1 < recording.events.size(); ++i) {
    const Event& event = recording.events[i];
    if (recording.name_of(event.tensor) != "product_workspace") continue;
    if (event.kind != Event::Kind::allocate) continue;
    sizes.push_back(recording.tensors[event.tensor].bytes);
    EXPECT_EQ(recording.events[i + 1].kind, Event::Kind::release);
    EXPECT_EQ(recording.events[i + 1].tensor, event.tensor);
  }
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{100, 1000}));
}

// A Linear flattens [batch, tokens, width] before its product: the gradient of its input is a view.
TEST_F(TapeTest, a_gradient_that_is_a_view_is_not_added_to) {
  const auto sums_of = [&](const Meta& meta) {
    {
      const Tensor x = Tape::detach(tape.empty("x", meta), true);
      const Tensor hidden = ops::silu(tape, x, "hidden");
      const Tensor a = ops::linear(tape, hidden, weight(false), std::nullopt, "a");
      const Tensor b = ops::linear(tape, hidden, weight(false), std::nullopt, "b");
      const Tensor c = ops::linear(tape, hidden, weight(false), std::nullopt, "c");
      run_back(ops::mul(tape, ops::mul(tape, a, b, "ab"), c, "abc"));
    }
    return count(recorder.take(), "gradient_sum");
  };
  EXPECT_EQ(sums_of(row), 0);
  // The first sum is a new tensor, which takes the third gradient in.
  EXPECT_EQ(sums_of({{1, 4, unit}, Element::fp32}), 1);
}

TEST_F(TapeTest, a_table_that_is_also_the_head_has_three_gradients_at_the_end) {
  const Tensor table = weight(true);
  {
    const Tensor ids = tape.empty("ids", {{1, 2}, Element::int64});
    const Tensor hidden = ops::embedding(tape, ids, table, "embedded");
    run_back(ops::linear(tape, hidden, table, std::nullopt, "logits"));
  }
  const Recording recording = recorder.take();
  EXPECT_EQ(count(recording, "logits.weight_grad"), 1);
  EXPECT_EQ(count(recording, "embedded.weight_grad"), 1);
  EXPECT_EQ(count(recording, "gradient_sum"), 1);
}

TEST_F(TapeTest, softmax_multiplies_its_output_by_the_gradient_and_log_softmax_does_not) {
  run_back(ops::softmax(tape, Tape::detach(tape.empty("x", row), true), row.element, "p"));
  run_back(ops::log_softmax(tape, Tape::detach(tape.empty("x", row), true), "log_p"));
  const Recording recording = recorder.take();
  EXPECT_EQ(count(recording, "times_grad"), 1);
  EXPECT_EQ(count(recording, "log_p.times_grad"), 0);
}

TEST_F(TapeTest, saved_tensors_go_when_their_node_has_run) {
  {
    Tensor x = Tape::detach(tape.empty("x", row), true);
    for (int i = 0; i < 10; ++i) x = ops::silu(tape, x, "layer");  // Each saves its input.
    run_back(x);
  }
  // Ten inputs, the output (seed's shape) and the seed, then at most the gradient in and out on
  // top.
  EXPECT_EQ(peak_bytes(recorder.take()), (10 + 1 + 1 + 1) * row.bytes());
}

TEST_F(TapeTest, checkpoint_keeps_only_the_input_and_computes_again) {
  const auto block = [](Tape& t, const std::vector<Tensor>& inputs) {
    Tensor x = inputs.front();
    for (int i = 0; i < 10; ++i) x = ops::silu(t, x, "layer");
    return x;
  };
  {
    const Tensor x = Tape::detach(tape.empty("x", row), true);
    const Tensor y = ops::checkpoint(tape, {x}, block);
    EXPECT_EQ(y.node->saved.size(), 1U);
    run_back(y);
    EXPECT_TRUE(x.node->grad.has_value());
  }
  EXPECT_EQ(count(recorder.take(), "layer"), 20);
}

TEST_F(TapeTest, without_gradients_nothing_is_saved) {
  tape.enable_grad(false);
  const Tensor y = ops::linear(tape, tape.empty("x", row), weight(true), std::nullopt, "y");
  EXPECT_FALSE(y.requires_grad());
}

TEST_F(TapeTest, backward_of_what_wants_no_gradient_does_nothing) {
  const Tensor y = ops::silu(tape, tape.empty("x", row), "y");
  run_back(y);
  EXPECT_EQ(count(recorder.take(), "y.grad"), 0);
}

TEST_F(TapeTest, deep_graph_is_taken_down_without_recursion) {
  const Tensor leaf = weight(true);
  Tensor y = leaf;
  for (int i = 0; i < 200000; ++i) y = ops::scale(tape, y, "y");
  run_back(y);
  EXPECT_TRUE(leaf.node->grad.has_value());
}

TEST_F(TapeTest, names_carry_their_scope_in_backward_too) {
  {
    const Tensor x = Tape::detach(tape.empty("x", row), true);
    Tensor y;
    {
      const Scope layer(tape, "layers", 3, Component::logits);
      y = ops::silu(tape, x, "act");
    }
    run_back(y);
  }
  const Recording recording = recorder.take();
  EXPECT_EQ(count(recording, "layers.3.act"), 1);
  EXPECT_EQ(count(recording, "layers.3.act.grad"), 1);
  for (std::uint32_t i = 0; i < recording.tensors.size(); ++i) {
    if (recording.name_of(i) == "layers.3.act.grad") {
      EXPECT_EQ(recording.tensors[i].component, Component::logits);
    }
  }
}

}  // namespace
}  // namespace headroom::estimate
