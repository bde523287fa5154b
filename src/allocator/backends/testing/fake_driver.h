// SPDX-License-Identifier: Apache-2.0
// For tests: a GPU's driver whose memory has real contents, in a memory file, with a clock of its
// own. It has HIP's rules (ranges at odd addresses, one unmap per map, no access before it is
// allowed) and one at a time of the faults that were reported of HIP.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "allocator/backend.h"
#include "allocator/backends/driver.h"
#include "allocator/backends/testing/fault.h"
#include "allocator/testing/faulty_backend.h"

namespace headroom::allocator::testing {

class FakeDriver final : public Driver {
 public:
  static constexpr std::uint64_t total_bytes = std::uint64_t{512} << 20U;

  // When the driver is destroyed, it stores in `left` how many ranges, pages, mappings, allocations
  // and events were not given back.
  explicit FakeDriver(Fault fault = Fault::none, std::size_t* left = nullptr)
      : fault_(fault), left_(left), file_(::memfd_create("headroom-fake-gpu", MFD_CLOEXEC)) {}
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  ~FakeDriver() override {
    if (left_ != nullptr)
      *left_ = ranges_.size() + pages_.size() + mappings_.size() + plain_.size() + events_.size();
    for (const auto& [address, bytes] : ranges_) ::munmap(pointer(address), bytes);
    for (const auto& [address, bytes] : plain_) ::munmap(pointer(address), bytes);
    ::close(file_);
  }

  // From now on everything that a backend needs for this call is refused without effect; nullopt
  // refuses nothing.
  void refuse(std::optional<BackendCall> call) { refused_call_ = call; }
  void set_fault(Fault fault) { fault_ = fault; }
  // From now on ranges do not begin at a page, as with HIP.
  void place_oddly() { places_oddly_ = true; }
  // From now on the GPU has this much memory.
  void set_total_bytes(std::uint64_t bytes) { has_bytes_ = bytes; }
  // Whether the address lies in what was reserved or allocated here and not given back.
  bool owns(std::uint64_t address) const {
    const auto holds = [address](const std::map<std::uint64_t, std::uint64_t>& pieces) {
      const auto next = pieces.upper_bound(address);
      return next != pieces.begin() && address - std::prev(next)->first < std::prev(next)->second;
    };
    return holds(plain_) || holds(ranges_);
  }

  std::string_view name() const override { return "a fake driver"; }
  Result<std::string> gpu_name() override { return std::string("a fake GPU"); }
  Result<std::string> pci_address() override { return std::string("0000:0c:00.0"); }
  Result<int> version() override { return 1; }

  Status check_virtual_memory() override { return Done{}; }

  Result<std::uint64_t> reserve(std::uint64_t bytes, std::uint64_t /*alignment*/) override {
    ++virtual_memory_calls_;
    pass(2'000);
    HEADROOM_CHECK(admit(BackendCall::reserve));
    const std::uint64_t odd = places_oddly_ ? 2 * page_bytes : 0;
    if (bytes + odd < bytes) return refused("no addresses");
    void* start =
        ::mmap(nullptr, bytes + odd, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return refused("no addresses");
    const std::uint64_t address =
        places_oddly_ ? (number(start) / page_bytes + 1) * page_bytes + 4096 : number(start);
    ranges_[address] = bytes;
    return address;
  }
  Status free_range(std::uint64_t address, std::uint64_t bytes) override {
    pass(2'000);
    const auto range = ranges_.find(address);
    if (range == ranges_.end() || range->second != bytes || fault_ == Fault::range_not_freed)
      return refused("the range cannot be freed");
    const auto mapped = mappings_.lower_bound(address);
    if (mapped != mappings_.end() && mapped->first < address + bytes)
      return refused("pages are still mapped");
    ::munmap(pointer(address), bytes);
    ranges_.erase(range);
    if (ranges_.empty()) kept_bytes_ = 0;
    return Done{};
  }

  Result<std::uint64_t> create_pages(std::uint64_t bytes) override {
    ++virtual_memory_calls_;
    pass(20'000);
    HEADROOM_CHECK(admit(BackendCall::create));
    if (bytes == 0 || bytes % page_bytes != 0) return refused("no whole pages");
    if (fault_ == Fault::single_pages_only && bytes > page_bytes) return refused("too large");
    if (taken_bytes() + bytes > has_bytes_)
      return Error{Errc::out_of_memory, "the fake GPU is full", ""};
    const std::uint64_t page = ++last_page_;
    const bool alias = fault_ == Fault::aliasing && page % 16 == 0 && pages_.contains(page - 1) &&
                       pages_[page - 1].bytes >= bytes;
    pages_[page] = {alias ? pages_[page - 1].place : file_bytes_, bytes};
    if (!alias) file_bytes_ += bytes;
    static_cast<void>(::ftruncate(file_, static_cast<off_t>(file_bytes_)));
    return page;
  }
  Status destroy_pages(std::uint64_t page) override {
    pass(20'000);
    HEADROOM_CHECK(admit(BackendCall::destroy));
    const auto found = pages_.find(page);
    if (found == pages_.end()) return refused("no such page");
    for (const auto& [address, mapping] : mappings_) {
      if (mapping.page == page) return refused("the page is mapped");
    }
    if (fault_ == Fault::memory_not_returned) kept_bytes_ += found->second.bytes;
    pages_.erase(found);
    return Done{};
  }

  Status map(std::uint64_t address, std::uint64_t bytes, std::uint64_t page) override {
    ++virtual_memory_calls_;
    pass(2'000);
    ++maps_;
    HEADROOM_CHECK(admit(BackendCall::map));
    if (maps_ == 30 && fault_ == Fault::hang) {
      for (;;) ::pause();
    }
    if (maps_ == 30 && fault_ == Fault::crash) std::abort();
    if (!pages_.contains(page) || bytes != pages_[page].bytes || range_of(address) == 0 ||
        range_of(address) != range_of(address + bytes - page_bytes))
      return refused("cannot be mapped there");
    for (const auto& [other, mapping] : mappings_) {
      const bool overlaps = other >= address && other < address + bytes;
      if (overlaps || mapping.page == page) return refused("is mapped already");
    }
    const bool lies = fault_ == Fault::map_lies && maps_ % 10 == 0;
    for (std::uint64_t at = 0; at < bytes; at += page_bytes)
      mappings_[address + at] = {.page = page, .offset = at, .nothing = lies};
    if (fault_ == Fault::live_data_zeroed && maps_ % 144 == 0) zero_oldest_page();
    return Done{};
  }

  Status set_access(std::uint64_t address, std::uint64_t bytes) override {
    ++virtual_memory_calls_;
    pass(30'000);
    ++access_calls_;
    HEADROOM_CHECK(admit(BackendCall::allow_access));
    for (std::uint64_t at = address; at < address + bytes; at += page_bytes) {
      const auto mapping = mappings_.find(at);
      if (mapping == mappings_.end() || mapping->second.nothing) return refused("is not mapped");
    }
    if (refuses_access(address, bytes)) return refused("invalid value");
    for (std::uint64_t at = address; at < address + bytes; at += page_bytes) {
      Mapping& mapping = mappings_[at];
      if (mapping.accessible) continue;
      mapping.accessible = true;
      if (fault_ == Fault::contents_lost_by_remapping && mapping.page % 16 == 5)
        clear(mapping.page);
      if (fault_ != Fault::zeros_after_mapping) {
        put(at, mapping);
        continue;
      }
      mapping.settles_at_ns = now_ns_ + 1'500'000;
      ::mmap(pointer(at), page_bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    return Done{};
  }

  Status unmap(std::uint64_t address, std::uint64_t bytes) override {
    ++virtual_memory_calls_;
    pass(30'000);
    HEADROOM_CHECK(admit(BackendCall::unmap));
    const auto first = mappings_.find(address);
    if (first == mappings_.end() || first->second.offset != 0 ||
        pages_[first->second.page].bytes != bytes)
      return refused("is not mapped");
    for (std::uint64_t at = 0; at < bytes; at += page_bytes) mappings_.erase(address + at);
    ::mmap(pointer(address), bytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return Done{};
  }

  Result<std::uint64_t> allocate(std::uint64_t bytes) override {
    pass(50'000);
    HEADROOM_CHECK(admit(BackendCall::allocate));
    if (taken_bytes() + bytes > has_bytes_)
      return Error{Errc::out_of_memory, "the fake GPU is full", ""};
    void* start =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return refused("no memory");
    plain_[number(start)] = bytes;
    return number(start);
  }
  Status release(std::uint64_t address) override {
    pass(50'000);
    HEADROOM_CHECK(admit(BackendCall::release));
    const auto found = plain_.find(address);
    if (found == plain_.end()) return refused("no such allocation");
    ::munmap(pointer(address), found->second);
    plain_.erase(found);
    return Done{};
  }
  Result<MemoryInfo> memory_info() override {
    ++memory_info_calls_;
    HEADROOM_CHECK(admit(BackendCall::device_memory));
    if (fault_ == Fault::memory_info_refused) return refused("the device is lost");
    const bool lies = fault_ == Fault::memory_info_inconsistent;
    return MemoryInfo{(lies ? 2 : 1) * has_bytes_ - taken_bytes(), has_bytes_, "the fake driver"};
  }

  Status wait_for_device() override { return admit(BackendCall::wait); }
  // Streams are numbers below 100 here; 0 is the default one.
  Status wait_for_stream(std::uintptr_t stream) override {
    pass(10'000);
    HEADROOM_CHECK(admit(BackendCall::wait));
    if (stream >= 100) return refused("no such stream");
    return Done{};
  }
  Result<std::uintptr_t> create_event() override {
    events_[++last_event_] = 0;
    return last_event_;
  }
  Status record_event(std::uintptr_t event, std::uintptr_t stream) override {
    HEADROOM_CHECK(admit(BackendCall::record));
    if (!events_.contains(event) || stream >= 100) return refused("no such event or stream");
    events_[event] = now_ns_ + 10'000;
    return Done{};
  }
  Result<bool> event_passed(std::uintptr_t event) override {
    pass(6'000);
    HEADROOM_CHECK(admit(BackendCall::passed));
    if (!events_.contains(event)) return refused("no such event");
    return now_ns_ >= events_[event];
  }
  Status destroy_event(std::uintptr_t event) override {
    if (events_.erase(event) == 0) return refused("no such event");
    return Done{};
  }
  std::size_t events() const { return events_.size(); }
  std::uint64_t memory_info_calls() const { return memory_info_calls_; }
  // How many calls there were to reserve, create, map, allow and unmap.
  std::uint64_t virtual_memory_calls() const { return virtual_memory_calls_; }

  Status copy_in(std::uint64_t to, const void* from, std::uint64_t bytes) override {
    pass(10'000 + bytes / 10);
    if (!usable(to, bytes)) return refused("memory fault");
    std::memcpy(pointer(to), from, bytes);
    return Done{};
  }
  Status copy_out(void* to, std::uint64_t from, std::uint64_t bytes) override {
    pass(10'000 + bytes / 10);
    if (!usable(from, bytes)) return refused("memory fault");
    std::memcpy(to, pointer(from), bytes);
    return Done{};
  }
  Status copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) override {
    pass(10'000);
    if (!usable(to, bytes) || !usable(from, bytes)) return refused("memory fault");
    std::memmove(pointer(to), pointer(from), bytes);
    return Done{};
  }
  Status fill(std::uint64_t address, std::uint64_t bytes, std::uint32_t word) override {
    pass(10'000);
    if (!usable(address, bytes)) return refused("memory fault");
    for (std::uint64_t at = 0; at < bytes; at += 4) std::memcpy(pointer(address + at), &word, 4);
    return Done{};
  }

  std::uint64_t now_ns() override { return now_ns_; }
  void pause(std::uint64_t ns) override { pass(ns); }

 private:
  struct Mapping {
    std::uint64_t page = 0;
    std::uint64_t offset = 0;  // In the handle's memory.
    bool accessible = false;
    bool nothing = false;             // The map reported success but mapped nothing.
    std::uint64_t settles_at_ns = 0;  // Until then it reads as zeros.
  };

  static void* pointer(std::uint64_t address) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  }
  static std::uint64_t number(void* pointer) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
  }
  static Error refused(const char* why) { return {Errc::io, why, ""}; }
  Status admit(BackendCall call) const {
    if (refused_call_ == call) return refused("a planned refusal");
    return Done{};
  }

  std::uint64_t taken_bytes() const {
    std::uint64_t bytes = kept_bytes_;
    for (const auto& [handle, pages] : pages_) bytes += pages.bytes;
    for (const auto& [address, size] : plain_) bytes += size;
    return bytes;
  }
  // Returns 0 if the address is in no range.
  std::uint64_t range_of(std::uint64_t address) const {
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return 0;
    --range;
    return address + page_bytes <= range->first + range->second ? range->first : 0;
  }
  void put(std::uint64_t address, const Mapping& mapping) {
    ::mmap(pointer(address), page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
           static_cast<off_t>(pages_[mapping.page].place + mapping.offset));
  }
  // Clears 64 KiB in the middle, which is noticed only by reading the whole page.
  void clear(std::uint64_t page) {
    ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(pages_[page].place + page_bytes / 2), off_t{64} << 10U);
  }
  void zero_oldest_page() {
    for (const auto& [address, mapping] : mappings_) {
      if (!mapping.accessible) continue;
      clear(mapping.page);
      return;
    }
  }

  void pass(std::uint64_t ns) {
    now_ns_ += ns;
    if (fault_ != Fault::zeros_after_mapping) return;
    for (auto& [address, mapping] : mappings_) {
      if (mapping.settles_at_ns == 0 || now_ns_ < mapping.settles_at_ns) continue;
      mapping.settles_at_ns = 0;
      put(address, mapping);
    }
  }

  bool usable(std::uint64_t address, std::uint64_t bytes) const {
    auto plain = plain_.upper_bound(address);
    if (plain != plain_.begin() && address + bytes <= (--plain)->first + plain->second) return true;
    for (std::uint64_t at = address / page_bytes * page_bytes; at < address + bytes;
         at += page_bytes) {
      const auto mapping = mappings_.find(at);
      if (mapping == mappings_.end() || !mapping->second.accessible) return false;
    }
    return true;
  }

  bool refuses_access(std::uint64_t address, std::uint64_t bytes) const {
    switch (fault_) {
      case Fault::tail_access_refused:
        return mappings_.contains(address - page_bytes);
      case Fault::first_mapping_only:
        return address >= range_of(address) + 2 * page_bytes;
      case Fault::access_sometimes_refused:
        return access_calls_ % 10 < 2;
      case Fault::some_sizes_refused:
        return bytes / page_bytes % 4 == 3;
      default:
        return false;
    }
  }

  Fault fault_;
  std::optional<BackendCall> refused_call_;
  bool places_oddly_ = false;
  std::size_t* left_;
  int file_;
  std::uint64_t has_bytes_ = total_bytes;
  std::uint64_t now_ns_ = 0;
  std::uint64_t kept_bytes_ = 0;  // Destroyed, but not returned.
  std::uint64_t maps_ = 0;
  std::uint64_t access_calls_ = 0;
  std::uint64_t memory_info_calls_ = 0;
  std::uint64_t virtual_memory_calls_ = 0;
  std::uint64_t last_page_ = 0;
  std::uintptr_t last_event_ = 0;
  struct Pages {
    std::uint64_t place = 0;  // Its offset in the file.
    std::uint64_t bytes = 0;
  };
  std::uint64_t file_bytes_ = page_bytes;
  std::map<std::uint64_t, Pages> pages_;           // By handle.
  std::map<std::uint64_t, std::uint64_t> ranges_;  // Address → bytes.
  std::map<std::uint64_t, Mapping> mappings_;
  std::map<std::uint64_t, std::uint64_t> plain_;
  std::map<std::uintptr_t, std::uint64_t> events_;  // Event → when it passes.
};

}  // namespace headroom::allocator::testing
