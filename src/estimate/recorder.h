// SPDX-License-Identifier: Apache-2.0
// The step as a sequence of allocations and frees: what a Tape writes down while it walks through a
// model, and what is then replayed through an allocation policy (design.md §5).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/component.h"
#include "estimate/job.h"
#include "estimate/name.h"
#include "estimate/shape.h"

namespace headroom::estimate {

using allocator::Component;

enum class Phase : std::uint8_t { load, forward, backward, optimizer, generate };
std::string_view to_string(Phase phase);

enum class Element : std::uint8_t { fp32, bf16, fp16, int64, int32, uint8 };
std::uint64_t size_of(Element element);
std::string_view to_string(Element element);
Element element_of(DType dtype);

struct Meta {
  Shape shape;
  Element element = Element::fp32;

  // 2^64 - 1 for what is more: a shape that no device holds is still told apart from a small one.
  std::uint64_t elements() const;
  std::uint64_t bytes() const;
  bool operator==(const Meta&) const = default;
};

// One tensor that the step allocates; its index in Recording::tensors is its id.
struct RecordedTensor {
  Meta meta;
  Name name;                               // Within its scope.
  std::uint32_t scope = 0;                 // Index in Recording::scopes.
  Component component = Component::other;  // At birth.
};

// The same for people and programs.
struct TensorRecord {
  std::string name;  // "layers.3.self_attn.scores", "layers.3.mlp.gate_proj.weight"
  Meta meta;
  Component component = Component::other;
};

struct Event {
  enum class Kind : std::uint8_t { allocate, release, retag };
  Kind kind = Kind::allocate;
  Phase phase = Phase::load;
  Component component = Component::other;
  std::uint32_t tensor = 0;
};

struct Recording {
  static constexpr std::uint32_t no_index = UINT32_MAX;
  struct Scope {
    Name name;
    std::uint32_t parent = 0;
    std::uint32_t index = no_index;  // Of a layer: printed behind the name.
  };

  std::vector<RecordedTensor> tensors;
  std::vector<Event> events;
  std::vector<Scope> scopes = {{}};  // The first is the root, without a name.
  std::deque<std::string> texts;     // What names point into.

  std::string name_of(std::uint32_t tensor) const;  // With its scopes, a point between them.
  TensorRecord describe(std::uint32_t tensor) const;
};

// Writes a Recording. One thread.
class Recorder {
 public:
  Recorder() = default;
  explicit Recorder(Recording begun) : recording_(std::move(begun)) {}  // Goes on with one.

  std::uint32_t allocate(Name name, std::uint32_t scope, const Meta& meta, Component component);
  void release(std::uint32_t tensor);
  void retag(std::uint32_t tensor, Component component);
  void enter(Phase phase) { phase_ = phase; }

  // A scope below another one, whose number it returns.
  std::uint32_t open_scope(std::uint32_t parent, Name name, std::uint32_t index);
  // A name that is made at run time; the recording keeps the text.
  Name intern(std::string text);

  Recording take() { return std::move(recording_); }

 private:
  Recording recording_;
  Phase phase_ = Phase::load;
};

// Memory of a tensor: allocated when made, released when the last view, saved reference or variable
// lets go.
class Storage {
 public:
  Storage(Recorder& recorder, std::uint32_t tensor) : recorder_(recorder), tensor_(tensor) {}
  ~Storage() { recorder_.release(tensor_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void retag(Component component) { recorder_.retag(tensor_, component); }

 private:
  Recorder& recorder_;
  std::uint32_t tensor_;
};

}  // namespace headroom::estimate
