// SPDX-License-Identifier: Apache-2.0
// For tests: the requests of a training job, step by step, as PyTorch makes them. The first of
// several micro-batches creates the gradients, the others add to them, and then an optimizer runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace headroom::allocator {

struct TrainingShape {
  enum class Gradients : std::uint8_t { freed, kept };  // What zero_grad() does after each step.
  // What the optimizer allocates besides its state: a temporary for all parameters at once, two for
  // each parameter in turn, or next to nothing.
  enum class Optimizer : std::uint8_t { all_at_once, one_by_one, fused };

  int micro_batches = 4;
  Gradients gradients = Gradients::freed;
  Optimizer optimizer = Optimizer::all_at_once;
  int layers = 6;
  std::uint64_t width = 1024;
};

// `Memory` has allocate(bytes), which returns a number, and free(number). It outlives the job.
template <class Memory>
class TrainingJob {
 public:
  // How many tokens a micro-batch of the step has.
  using Tokens = std::function<std::uint64_t(int micro_batch)>;

  TrainingJob(Memory& memory, const TrainingShape& shape) : memory_(memory), shape_(shape) {
    const std::uint64_t square = 4 * shape.width * shape.width;
    parameters_.push_back(16 * square);
    for (int layer = 0; layer < shape.layers; ++layer)
      for (const std::uint64_t part : {3U, 1U, 4U, 4U}) parameters_.push_back(part * square);
    make_all(weights_);
  }

  void step(const Tokens& tokens) { step_of(shape_.micro_batches, tokens); }
  // Plays a step with this number of micro-batches instead of the job's.
  void step_of(int micro_batches, const Tokens& tokens) {
    for (int batch = 0; batch < micro_batches; ++batch) micro_batch(tokens(batch));
    optimize();
    if (shape_.gradients == TrainingShape::Gradients::freed) free_all(gradients_);
  }
  void step(std::uint64_t tokens) {
    step([=](int) { return tokens; });
  }
  // From now on the job keeps numbers for good: so many losses of each micro-batch, and so many
  // gradient norms of each step.
  void keep(int losses, int norms) {
    kept_losses_ = losses;
    kept_norms_ = norms;
  }
  // Clears the lists that the kept numbers are in.
  void free_kept() { free_all(kept_); }

  // Frees everything.
  void end() {
    free_all(weights_);
    free_all(gradients_);
    free_all(states_);
    free_all(loss_);
    free_kept();
  }

 private:
  using Blocks = std::vector<std::size_t>;

  void make_all(Blocks& blocks) {
    for (const std::uint64_t bytes : parameters_) blocks.push_back(memory_.allocate(bytes));
  }
  void free_all(Blocks& blocks) {
    for (const std::size_t block : blocks) memory_.free(block);
    blocks.clear();
  }
  void keep_numbers(int count) {
    for (int i = 0; i < count; ++i) kept_.push_back(memory_.allocate(512));
  }
  void pass(std::uint64_t bytes) { memory_.free(memory_.allocate(bytes)); }

  Blocks forward(std::uint64_t tokens) {
    const std::uint64_t unit = 4 * tokens * shape_.width;
    Blocks made;
    for (const std::uint64_t part : {1U, 1U, 3U, 1U, 4U, 4U}) {
      made.push_back(memory_.allocate(part * unit));
      pass(8 * tokens);
      pass(unit);
    }
    return made;
  }

  void micro_batch(std::uint64_t tokens) {
    const std::uint64_t unit = 4 * tokens * shape_.width;
    Blocks ids = {memory_.allocate(8 * tokens), memory_.allocate(8 * tokens)};
    std::vector<Blocks> saved;
    for (int layer = 0; layer < shape_.layers; ++layer) saved.push_back(forward(tokens));
    const std::size_t logits = memory_.allocate(16 * unit);
    const std::size_t loss = memory_.allocate(512);
    free_all(loss_);  // The variable held the last one until now.
    loss_ = {loss};
    keep_numbers(kept_losses_);
    pass(16 * unit);
    memory_.free(logits);
    const bool is_first = gradients_.empty();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const std::size_t gradient = memory_.allocate(parameters_[i]);
      if (is_first)
        gradients_.push_back(gradient);
      else
        memory_.free(gradient);  // It was added to the existing one.
      if (i % 4 != 3) continue;
      const std::size_t upstream = memory_.allocate(unit);
      free_all(saved.back());
      saved.pop_back();
      memory_.free(upstream);
    }
    for (Blocks& layer : saved) free_all(layer);
    free_all(ids);
  }

  void optimize() {
    keep_numbers(kept_norms_);
    if (states_.empty()) {
      make_all(states_);
      make_all(states_);
    }
    Blocks temporaries;
    if (shape_.optimizer == TrainingShape::Optimizer::all_at_once) make_all(temporaries);
    free_all(temporaries);
    if (shape_.optimizer != TrainingShape::Optimizer::one_by_one) return;
    for (const std::uint64_t bytes : parameters_) {
      pass(bytes);
      pass(bytes);
    }
  }

  Memory& memory_;
  TrainingShape shape_;
  std::vector<std::uint64_t> parameters_;
  Blocks weights_;
  Blocks gradients_;
  Blocks states_;
  Blocks loss_;
  Blocks kept_;
  int kept_losses_ = 0;
  int kept_norms_ = 0;
};

inline std::string to_string(const TrainingShape& shape) {
  std::string text = std::to_string(shape.micro_batches) + "_micro_batches_";
  text += shape.gradients == TrainingShape::Gradients::freed ? "freed_" : "kept_";
  if (shape.optimizer == TrainingShape::Optimizer::all_at_once) return text + "all_at_once";
  if (shape.optimizer == TrainingShape::Optimizer::one_by_one) return text + "one_by_one";
  return text + "fused";
}

// Every kind of job, for parametrised tests.
inline std::vector<TrainingShape> training_shapes() {
  using Gradients = TrainingShape::Gradients;
  using Optimizer = TrainingShape::Optimizer;
  std::vector<TrainingShape> shapes;
  for (const int micro_batches : {1, 2, 3, 4, 8})
    for (const auto gradients : {Gradients::freed, Gradients::kept})
      for (const auto optimizer : {Optimizer::all_at_once, Optimizer::one_by_one, Optimizer::fused})
        shapes.push_back(
            {.micro_batches = micro_batches, .gradients = gradients, .optimizer = optimizer});
  return shapes;
}

}  // namespace headroom::allocator
