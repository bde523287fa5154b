// SPDX-License-Identifier: Apache-2.0
// A pointer that shares an object with others; the object counts its holders itself. Unlike
// std::shared_ptr it is one word, costs no allocation of its own and no atomic instruction, and so
// must stay within one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace headroom {

// T has a public `std::uint32_t holders = 0;` and `static void retire(T* object)`, which ends it.
template <class T>
class Counted {
 public:
  Counted() = default;
  Counted(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): as every pointer
  explicit Counted(T* object) : object_(object) { hold(); }
  Counted(const Counted& other) : object_(other.object_) { hold(); }
  Counted(Counted&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Counted& operator=(const Counted& other) {
    if (this != &other) Counted(other).swap(*this);
    return *this;
  }
  Counted& operator=(Counted&& other) noexcept {
    Counted(std::move(other)).swap(*this);
    return *this;
  }
  ~Counted() {
    if (object_ != nullptr && --object_->holders == 0) T::retire(object_);
  }

  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  std::uint32_t use_count() const { return object_ == nullptr ? 0 : object_->holders; }
  friend bool operator==(const Counted& a, const Counted& b) { return a.object_ == b.object_; }
  friend bool operator==(const Counted& a, std::nullptr_t) { return a.object_ == nullptr; }

 private:
  void hold() {
    if (object_ != nullptr) ++object_->holders;
  }
  void swap(Counted& other) noexcept { std::swap(object_, other.object_); }

  T* object_ = nullptr;
};

}  // namespace headroom
