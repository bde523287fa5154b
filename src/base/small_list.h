// SPDX-License-Identifier: Apache-2.0
// A list that keeps its first N elements in the object itself: for the short lists that are made by
// the ten thousand, where asking the heap for each costs more than all that is done with them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace headroom {

template <class T, std::size_t N>
class SmallList {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallList() = default;
  explicit SmallList(std::size_t count) {
    reserve(count);
    for (; count_ < count; ++count_) std::construct_at(data() + count_);
  }
  SmallList(std::initializer_list<T> items) {
    reserve(items.size());
    for (const T& item : items) append(item);
  }
  SmallList(std::vector<T>&& items) {  // NOLINT(google-explicit-constructor)
    reserve(items.size());
    for (T& item : items) append(std::move(item));
    items.clear();
  }
  SmallList(const SmallList& other) {
    reserve(other.count_);
    for (const T& item : other) append(item);
  }
  SmallList(SmallList&& other) noexcept { take(other); }
  SmallList& operator=(const SmallList& other) {
    if (this != &other) *this = SmallList(other);
    return *this;
  }
  SmallList& operator=(SmallList&& other) noexcept {
    if (this == &other) return *this;
    clear();
    heap_.reset();
    capacity_ = N;
    take(other);
    return *this;
  }
  ~SmallList() { clear(); }

  void push_back(T item) {
    if (count_ == capacity_) reserve(2 * count_);
    append(std::move(item));
  }
  void clear() {
    std::destroy_n(data(), count_);
    count_ = 0;
  }

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  T* data() { return heap_ ? as_items(heap_.get()) : as_items(own_); }
  const T* data() const { return heap_ ? as_items(heap_.get()) : as_items(own_); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[count_ - 1]; }
  const T& back() const { return data()[count_ - 1]; }
  T* begin() { return data(); }
  const T* begin() const { return data(); }
  T* end() { return data() + count_; }
  const T* end() const { return data() + count_; }

 private:
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  static T* as_items(std::byte* bytes) {
    return std::launder(static_cast<T*>(static_cast<void*>(bytes)));
  }
  static const T* as_items(const std::byte* bytes) {
    return std::launder(static_cast<const T*>(static_cast<const void*>(bytes)));
  }

  // Requires: count_ < capacity_.
  template <class Item>
  void append(Item&& item) {
    std::construct_at(data() + count_, std::forward<Item>(item));
    ++count_;
  }
  void reserve(std::size_t wanted) {
    if (wanted <= capacity_) return;
    auto larger = std::make_unique<std::byte[]>(wanted * sizeof(T));  // NOLINT: raw memory
    T* items = static_cast<T*>(static_cast<void*>(larger.get()));
    std::uninitialized_move_n(data(), count_, items);
    std::destroy_n(data(), count_);
    heap_ = std::move(larger);
    capacity_ = wanted;
  }
  // Requires: this list is empty and has nothing on the heap.
  void take(SmallList& other) {
    if (other.heap_) {
      heap_ = std::move(other.heap_);
      capacity_ = std::exchange(other.capacity_, N);
      count_ = std::exchange(other.count_, 0);
      return;
    }
    std::uninitialized_move_n(other.data(), other.count_, data());
    count_ = other.count_;
    other.clear();
  }

  std::size_t count_ = 0;
  std::size_t capacity_ = N;
  std::unique_ptr<std::byte[]> heap_;        // NOLINT: raw memory
  alignas(T) std::byte own_[N * sizeof(T)];  // NOLINT: raw memory
};

}  // namespace headroom
