// SPDX-License-Identifier: Apache-2.0
// What moves the parameters along their gradients: AdamW, SGD or Adafactor. Each is in a file of
// its own, with what it keeps of every parameter and what it needs beside that.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "trainer/parameter.h"

namespace headroom::trainer {

struct AdamWSettings {
  double learning_rate = 1e-3;
  double weight_decay = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

struct SgdSettings {
  double learning_rate = 1e-3;
  double weight_decay = 0;
  double momentum = 0;  // 0: without, and without a state.
  bool nesterov = false;
};

struct AdafactorSettings {
  double learning_rate = 1e-3;  // Of no effect with relative_step.
  double weight_decay = 0;
  double clip_threshold = 1;     // Root mean square of an update, at most.
  bool relative_step = false;    // The rate is min(10⁻², 1/√t), t counted from 1.
  bool warmup_init = false;      // 10⁻⁶·t in place of 10⁻².
  bool scale_parameter = false;  // The rate is multiplied by the parameter's root mean square.
  double decay_rate = -0.8;
  double gradient_epsilon = 1e-30;  // Added to every square of a gradient.
  double scale_epsilon = 1e-3;      // The least root mean square of a parameter.
};

using OptimizerSettings = std::variant<AdamWSettings, SgdSettings, AdafactorSettings>;

// What one step multiplies: by its schedule, and by what clips the gradients.
struct StepFactors {
  double rate = 1;      // Of the learning rate, weight decay included.
  double gradient = 1;  // Of every gradient.
};

class Optimizer {
 public:
  using Factors = StepFactors;

  // What is kept of one parameter, by a name for files: "mean".
  struct State {
    std::string name;
    at::Tensor value;
  };

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  // Moves every parameter along its gradient and drops the gradients. Requires: all have one.
  void step(const Factors& factors);
  void step() { step(Factors{}); }

  // The rate that step() takes next, under a schedule's factor. What Adafactor makes of a
  // parameter's size is not in it.
  virtual double learning_rate(double factor) const = 0;

  // For checkpoints. States belong to the parameters in their order; allocate_states() gives them
  // memory (tag optimizer) where the first step has not yet.
  void allocate_states();
  virtual std::vector<State> states_of(std::size_t parameter) const = 0;
  std::uint64_t steps() const { return steps_; }
  void set_steps(std::uint64_t steps) { steps_ = steps; }

 protected:
  explicit Optimizer(std::deque<Parameter>& parameters) : parameters_(parameters) {}

  // Adds the state of the parameter whose turn it is, all zeros.
  virtual void add_state(const Parameter& parameter) = 0;
  // One step of one parameter; steps() counts it already.
  virtual void update(std::size_t index, Parameter& parameter, const Factors& factors) = 0;

 private:
  std::deque<Parameter>& parameters_;
  std::size_t allocated_ = 0;
  std::uint64_t steps_ = 0;
};

// `parameters` outlives the optimizer.
std::unique_ptr<Optimizer> make_optimizer(std::deque<Parameter>& parameters,
                                          const OptimizerSettings& settings);

}  // namespace headroom::trainer
