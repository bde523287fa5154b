// SPDX-License-Identifier: Apache-2.0
// Records a step as a sequence of allocations and frees. A Tape writes it while it walks through a
// model, and it is then replayed through an allocation policy (ARCHITECTURE.md, "A peak is not a
// sum of formulas").
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/component.h"
#include "base/block_pool.h"
#include "base/counted.h"
#include "estimate/host_memory.h"
#include "estimate/job.h"
#include "estimate/name.h"
#include "estimate/shape.h"

namespace headroom::estimate {

using allocator::Component;

enum class Phase : std::uint8_t { load, forward, backward, optimizer, generate };
std::string_view to_string(Phase phase);

enum class Element : std::uint8_t { fp32, bf16, fp16, int64, int32, uint8 };
constexpr std::uint64_t size_of(Element element) {
  constexpr std::array<std::uint8_t, 6> sizes = {4, 2, 2, 8, 4, 1};
  return sizes[static_cast<std::size_t>(element)];
}
std::string_view to_string(Element element);
Element element_of(DType dtype);

struct Meta {
  [[no_unique_address]] Shape shape;  // Tens of thousands are kept: no byte between.
  Element element = Element::fp32;

  // 2^64 - 1 for what is more: a shape that no device holds is still told apart from a small one.
  std::uint64_t elements() const {
    std::uint64_t product = 1;
    for (const std::uint64_t size : shape) product = times(product, size);
    return product;
  }
  std::uint64_t bytes() const { return times(elements(), size_of(element)); }
  bool operator==(const Meta&) const = default;

 private:
  static std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
  }
};

// One tensor that the step allocates; its index in Recording::tensors is its id.
struct RecordedTensor {
  [[no_unique_address]] Meta meta;
  Component component = Component::other;  // At birth.
  std::uint32_t scope = 0;                 // Index in Recording::scopes.
  std::uint64_t bytes = 0;                 // meta.bytes(), which every replay asks for.
  Name name;                               // Within its scope.
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
  HostPeak host;                     // Of what the step offloads; engine headroom alone.

  std::string name_of(std::uint32_t tensor) const;  // With its scopes, a point between them.
  TensorRecord describe(std::uint32_t tensor) const;
};

class Recorder;

// Memory of a tensor: allocated when made, released when the last view, saved reference or variable
// lets go. Lives in its recorder's pool, which must outlive it.
class Storage {
 public:
  Storage(Recorder& recorder, std::uint32_t tensor) : recorder_(recorder), tensor_(tensor) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void retag(Component component);
  Recorder& recorder() const { return recorder_; }
  std::uint32_t tensor() const { return tensor_; }  // Its id.

  std::uint32_t holders = 0;  // base/counted.h
  static void retire(Storage* storage);

 private:
  ~Storage() = default;

  Recorder& recorder_;
  std::uint32_t tensor_;
};

// Writes a Recording. One thread.
class Recorder {
 public:
  Recorder();
  explicit Recorder(Recording begun) : recording_(std::move(begun)) {}  // Goes on with one.

  // A tensor of that name, meta and component, born in the scope; its id.
  std::uint32_t allocate(Name name, std::uint32_t scope, const Meta& meta, Component component) {
    const auto id = static_cast<std::uint32_t>(recording_.tensors.size());
    recording_.tensors.push_back({meta, component, scope, meta.bytes(), name});
    recording_.events.push_back({Event::Kind::allocate, phase_, component, id});
    return id;
  }
  // What releases the tensor when its last holder goes. At most once for each.
  Counted<Storage> hold(std::uint32_t tensor) {
    return Counted<Storage>(::new (pool_.take(sizeof(Storage))) Storage(*this, tensor));
  }
  void release(std::uint32_t tensor) {
    recording_.events.push_back({Event::Kind::release, phase_, Component::other, tensor});
  }
  void retag(std::uint32_t tensor, Component component) {
    recording_.events.push_back({Event::Kind::retag, phase_, component, tensor});
  }
  void enter(Phase phase) { phase_ = phase; }

  // A scope below another one, whose number it returns.
  std::uint32_t open_scope(std::uint32_t parent, Name name, std::uint32_t index);
  // A name that is made at run time; the recording keeps the text.
  Name intern(std::string text);

  // Where what a Tape makes lives as well.
  BlockPool& pool() { return pool_; }

  Recording take() { return std::move(recording_); }

 private:
  BlockPool pool_;
  Recording recording_;
  Phase phase_ = Phase::load;
};

inline void Storage::retag(Component component) {
  recorder_.retag(tensor_, component);
}

inline void Storage::retire(Storage* storage) {
  Recorder& recorder = storage->recorder_;
  recorder.release(storage->tensor_);
  recorder.pool().give_back(storage, sizeof(Storage));
}

}  // namespace headroom::estimate
