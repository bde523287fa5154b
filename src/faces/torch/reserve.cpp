// SPDX-License-Identifier: Apache-2.0
#include "faces/torch/reserve.h"

namespace headroom::torch_face {

std::uint64_t Reserve::keep(headroom_allocator* allocator, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  is_open_ = false;
  if (bytes == bytes_) return bytes_;
  give_back(allocator);
  if (bytes == 0) return 0;
  // Nothing is ever queued on it, so that any stream will do.
  block_ = headroom_allocate(allocator, bytes, nullptr, {HEADROOM_OTHER, 0});
  if (block_ != nullptr) bytes_ = bytes;
  return bytes_;
}

void Reserve::open() {
  const MutexLock lock(mutex_);
  is_open_ = true;
}

bool Reserve::spend(headroom_allocator* allocator) {
  const MutexLock lock(mutex_);
  if (!is_open_ || block_ == nullptr) return false;
  give_back(allocator);
  return true;
}

std::uint64_t Reserve::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

void Reserve::give_back(headroom_allocator* allocator) {
  if (block_ != nullptr) static_cast<void>(headroom_free(allocator, block_, nullptr));
  block_ = nullptr;
  bytes_ = 0;
}

}  // namespace headroom::torch_face
