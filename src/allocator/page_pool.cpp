// SPDX-License-Identifier: Apache-2.0
#include "allocator/page_pool.h"

#include <utility>

namespace headroom::allocator {

PagePool::~PagePool() {
  // There is nobody left to tell about a page that cannot be destroyed; the backend's own end
  // returns what it still holds.
  for (const PageHandle page : unmapped_) static_cast<void>(backend_->destroy_page(page));
}

template <class T>
Result<T> PagePool::noted(Result<T> result, std::uint32_t cost) {
  ++device_calls_;
  device_ns_ += cost;
  if (!result) last_error_ = result.error();
  return result;
}

Result<std::uint64_t> PagePool::reserve_range(std::uint64_t bytes) {
  return noted(backend_->reserve_range(bytes), costs().reserve);
}

Status PagePool::allow_access(std::uint64_t address, std::uint64_t bytes) {
  return noted(backend_->allow_access(address, bytes), costs().allow_access);
}

Status PagePool::wait_for(StreamId stream) {
  return noted(backend_->wait_for(stream), costs().wait);
}

Result<PageHandle> PagePool::map(std::uint64_t address) {
  if (unmapped_.empty()) {
    if (created_ >= capacity_pages_)
      return Error{Errc::out_of_memory, "all pages of the capacity are mapped", ""};
    auto created = noted(backend_->create_page(), costs().create);
    if (!created) {
      refused_ = true;
      return std::move(created).error();
    }
    ++created_;
    unmapped_.push_back(*created);
  }
  const PageHandle page = unmapped_.back();
  HEADROOM_CHECK(noted(backend_->map(address, page), costs().map));
  unmapped_.pop_back();
  return page;
}

Status PagePool::unmap(std::uint64_t address, PageHandle page) {
  HEADROOM_CHECK(noted(backend_->unmap(address), costs().unmap));
  unmapped_.push_back(page);
  return Done{};
}

std::uint64_t PagePool::spare() const {
  return unmapped_.size() + (refused_ ? 0 : capacity_pages_ - created_);
}

}  // namespace headroom::allocator
