// SPDX-License-Identifier: Apache-2.0
// What moves the parameters along their gradients: AdamW, SGD or Adafactor. Each is in a file of
// its own, with what it keeps of every parameter and what it needs beside that.
//
// Offloaded, the states lie in host memory. A parameter's are copied to the device, the parameter
// is updated, and they are copied back: where every number is updated by itself, as many as a block
// has room for (ops/row_blocks.h), so that beside the temporaries of an update a step needs one
// such block (workspace) for each state. The numbers are the same, to the bit.
//
// With masters a half-precision parameter has one state more, its values in fp32: those are moved,
// and the parameter becomes what they round to. Its gradient is copied in fp32 too, a block at a
// time (workspace), where every number is updated by itself.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "trainer/host_domain.h"
#include "trainer/parameter.h"

namespace headroom::trainer {

struct AdamWSettings {
  double learning_rate = 1e-3;
  double weight_decay = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool in_bytes = false;  // Its states: AdamW8bit.
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

// What is kept beside a parameter's own, and where.
struct StateOptions {
  bool masters = false;        // In fp32, of what is not as wide.
  HostDomain* host = nullptr;  // Offloaded to it.
};

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
    std::int64_t numbers_each = 1;  // Of the parameter, for each of the state in their order.
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
  const std::vector<State>& states_of(std::size_t parameter) const { return states_[parameter]; }
  std::uint64_t steps() const { return steps_; }
  void set_steps(std::uint64_t steps) { steps_ = steps; }

 protected:
  // A state as it is before the first step: zeros.
  struct StateShape {
    const char* name;
    std::vector<std::int64_t> sizes;
    at::ScalarType type;
    std::int64_t numbers_each = 1;
  };
  // What one update works on: a parameter as it is, or some of its numbers in a row. The states are
  // on the device, in the order of shape_states().
  struct Part {
    at::Tensor value;
    at::Tensor grad;
    std::vector<at::Tensor> states;
  };

  Optimizer(std::deque<Parameter>& parameters, const StateOptions& options)
      : parameters_(parameters), options_(options) {}

  // Of a parameter of these sizes that is updated in `type`.
  virtual std::vector<StateShape> shape_states(at::IntArrayRef sizes,
                                               at::ScalarType type) const = 0;
  // Whether numbers are updated by themselves, each with its own of each state or, of states of
  // several numbers each, blocks of those.
  virtual bool is_by_number() const { return true; }
  // One step of one part; steps() counts it already.
  virtual void update(const Part& part, const Factors& factors) = 0;

 private:
  bool has_master(const at::Tensor& value) const;
  void update_staged(const Parameter& parameter, const std::vector<State>& states,
                     const Factors& factors);

  std::deque<Parameter>& parameters_;
  StateOptions options_;
  std::vector<std::vector<State>> states_;  // As far as they have memory.
  std::uint64_t steps_ = 0;
};

// The parameters, and where states are offloaded to, outlive the optimizer.
std::unique_ptr<Optimizer> make_optimizer(std::deque<Parameter>& parameters,
                                          const OptimizerSettings& settings,
                                          const StateOptions& states = {});

}  // namespace headroom::trainer
