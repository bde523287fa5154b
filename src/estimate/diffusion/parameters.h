// SPDX-License-Identifier: Apache-2.0
// The weights of one model of a pipeline (a text encoder, the UNet, the VAE): on the device, or in
// host memory until somebody needs them.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>

#include "estimate/tape.h"

namespace headroom::estimate::diffusion {

// Lives as long as its Weights. Without a tensor it is in host memory.
struct Parameter {
  Name name;
  std::uint32_t scope = 0;  // Where it was made: moving it in keeps its name.
  Meta meta;
  bool counted = true;  // Buffers are moved as well, but are no parameters.
  bool keeps_type = false;
  Tensor tensor;
};

class Weights {
 public:
  // Of a model held in `element`, on no device yet.
  Weights(Tape& tape, Element element) : tape_(tape), element_(element) {}
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  Parameter* add(Name name, const Shape& shape);
  // One whose type stays as it is, whatever the model's is.
  Parameter* add_kept(Name name, const Meta& meta, bool counted);
  Parameter* add_buffer(Name name, const Shape& shape);

  Tape& tape() const { return tape_; }
  Element element() const { return element_; }
  bool on_device() const { return on_device_; }
  std::uint64_t parameters() const;
  std::uint64_t bytes() const;  // Buffers included, as stored.

  void move_in();  // module.to("cuda"): one after the other, in the order of their making.
  void move_in_buffers();
  void move_out();
  // module.to(dtype): each one's old memory goes when the new one is there.
  void cast(Element element);
  void move_in(Parameter& parameter);

 private:
  Tape& tape_;
  Element element_;
  bool on_device_ = false;
  std::deque<Parameter> parameters_;
};

// Brings a layer's parameters onto the device for one call, where they are not there: accelerate's
// sequential offload (hooks.py, AlignDevicesHook).
class Needed {
 public:
  Needed(Weights& weights, std::initializer_list<Parameter*> parameters);
  ~Needed();
  Needed(const Needed&) = delete;
  Needed& operator=(const Needed&) = delete;

 private:
  SmallList<Parameter*, 4> moved_;
};

}  // namespace headroom::estimate::diffusion
