// SPDX-License-Identifier: Apache-2.0
// The step as a sequence of allocations and frees: what a Tape writes down while it walks through a
// model, and what is then replayed through an allocation policy (design.md §5).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/component.h"
#include "estimate/job.h"

namespace headroom::estimate {

using allocator::Component;

enum class Phase : std::uint8_t { load, forward, backward, optimizer };
std::string_view to_string(Phase phase);

enum class Element : std::uint8_t { fp32, bf16, fp16, int64, uint8 };
std::uint64_t size_of(Element element);
std::string_view to_string(Element element);
Element element_of(DType dtype);

using Shape = std::vector<std::uint64_t>;

struct Meta {
  Shape shape;
  Element element = Element::fp32;

  // 2^64 - 1 for what is more: a shape that no device holds is still told apart from a small one.
  std::uint64_t elements() const;
  std::uint64_t bytes() const;
  bool operator==(const Meta&) const = default;
};

// One tensor that the step allocates; its index in Recording::tensors is its id.
struct TensorRecord {
  std::string name;  // "layers.3.self_attn.scores", "layers.3.mlp.gate_proj.weight"
  Meta meta;
  Component component = Component::other;  // At birth.
};

struct Event {
  enum class Kind : std::uint8_t { allocate, release, retag };
  Kind kind = Kind::allocate;
  Phase phase = Phase::load;
  Component component = Component::other;
  std::uint32_t tensor = 0;
};

struct Recording {
  std::vector<TensorRecord> tensors;
  std::vector<Event> events;
};

// Writes a Recording. One thread.
class Recorder {
 public:
  std::uint32_t allocate(std::string name, const Meta& meta, Component component);
  void release(std::uint32_t tensor);
  void retag(std::uint32_t tensor, Component component);
  void enter(Phase phase) { phase_ = phase; }

  Recording take() { return std::move(recording_); }

 private:
  Recording recording_;
  Phase phase_ = Phase::load;
};

// Memory of a tensor: allocated when made, released when the last view, saved reference or variable
// lets go.
class Storage {
 public:
  Storage(Recorder& recorder, std::string name, const Meta& meta, Component component)
      : recorder_(recorder), tensor_(recorder.allocate(std::move(name), meta, component)) {}
  ~Storage() { recorder_.release(tensor_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void retag(Component component) { recorder_.retag(tensor_, component); }

 private:
  Recorder& recorder_;
  std::uint32_t tensor_;
};

}  // namespace headroom::estimate
