// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/bytes.h"
#include "base/text.h"
#include "machine/user_files.h"

namespace headroom::allocator {
namespace {

constexpr int reservation_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

constexpr const char* look_at_memory =
    "free -h shows what memory is left; set a smaller [device] capacity";

// A Backend's addresses are numbers, because on a GPU they point to nothing that the CPU can read.
void* pointer(std::uint64_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

std::uint64_t number(void* pointer) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

off_t offset_of(std::uint64_t page) {
  return static_cast<off_t>(page * page_bytes);
}

// Turns the place back into reserved addresses without memory.
bool cover(void* place, std::uint64_t bytes) {
  return ::mmap(place, bytes, PROT_NONE, reservation_flags | MAP_FIXED, -1, 0) == place;
}

Error failed(std::string_view doing, int code, std::string next) {
  const bool memory = code == ENOMEM || code == ENOSPC;
  return {memory ? Errc::out_of_memory : Errc::io,
          fmt::format("{}: {}", doing, std::generic_category().message(code)), std::move(next)};
}

Error failed_to_map(std::string_view doing, int code, std::uint64_t mapped) {
  return failed(fmt::format("{} with {} pages mapped", doing, mapped), code,
                fmt::format("if wc -l < /proc/{}/maps is near sysctl vm.max_map_count, raise it: "
                            "sysctl -w vm.max_map_count=1048576; else see free -h",
                            ::getpid()));
}

// The kernel's limit on mappings of the whole process; each mapped page may count as one. 0 if it
// cannot be read.
std::uint64_t mapping_limit() {
  const auto text = machine::read_file("/proc/sys/vm/max_map_count", 64);
  return text ? parse_u64(trim(*text)).value_or(0) : 0;
}

// Fills private memory as fallocate() fills a file, so that the kernel's refusal is an Error.
Status populate(void* start, std::uint64_t bytes) {
  while (::madvise(start, bytes, MADV_POPULATE_WRITE) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno != EINVAL)
      return failed("filling memory", errno == EFAULT ? ENOMEM : errno, look_at_memory);
    // Linux before 5.14 does not have MADV_POPULATE_WRITE, so each page is written to.
    const auto step = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    for (std::uint64_t at = 0; at < bytes; at += step) static_cast<volatile char*>(start)[at] = 0;
    break;
  }
  return Done{};
}

}  // namespace

Result<std::unique_ptr<HostBackend>> HostBackend::create(VirtualMemory virtual_memory) {
  HEADROOM_TRY(HostMemory memory, HostMemory::of_this_machine());
  return create(virtual_memory, std::move(memory));
}

Result<std::unique_ptr<HostBackend>> HostBackend::create(VirtualMemory virtual_memory,
                                                         HostMemory memory) {
  const int file = ::memfd_create("headroom", MFD_CLOEXEC);
  if (file < 0)
    return failed("creating the memory file (memfd_create)", errno,
                  "ulimit -n shows how many files this process may have open");
  std::unique_ptr<HostBackend> backend(new HostBackend(file, ::getpid(), std::move(memory)));
  if (virtual_memory == VirtualMemory::off) backend->capabilities_ = {};
  backend->capabilities_.max_mappings = mapping_limit();
  return backend;
}

HostBackend::~HostBackend() {
  for (const auto& [address, bytes] : plain_.sizes()) ::munmap(pointer(address), bytes);
  for (const PageTable::Range& range : table_.ranges())
    ::munmap(pointer(range.address), range.bytes);
  ::close(file_);
}

Status HostBackend::check_owner() const {
  if (::getpid() == owner_) return Done{};
  return Error{Errc::unsupported,
               fmt::format("process {} was forked from process {}, whose memory this is",
                           ::getpid(), owner_),
               "make the allocator after the fork, or start the child with exec"};
}

Status HostBackend::check_virtual_memory() const {
  HEADROOM_CHECK(check_owner());
  if (capabilities_.virtual_memory) return Done{};
  return Error{Errc::unsupported, "this host memory was made without virtual memory", ""};
}

Result<std::uint64_t> HostBackend::held_bytes() const {
  struct stat status {};
  if (::fstat(file_, &status) != 0) return failed("looking at the memory file", errno, "");
  // Blocks of stat(2) always have 512 bytes.
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

Result<std::uint64_t> HostBackend::reserve_range(std::uint64_t bytes) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_CHECK(PageTable::check_range(bytes));
  const std::uint64_t padded = bytes + page_bytes;  // Leaves room to align the address.
  void* start =
      padded < bytes ? MAP_FAILED : ::mmap(nullptr, padded, PROT_NONE, reservation_flags, -1, 0);
  if (start == MAP_FAILED)
    return failed(fmt::format("reserving {} of addresses", to_string(Bytes{bytes})), ENOMEM,
                  "ulimit -v shows the limit on addresses; ulimit -v unlimited lifts it");
  const std::uint64_t address = round_up(number(start), page_bytes);
  const std::uint64_t head = address - number(start);
  if (head > 0) ::munmap(start, head);
  ::munmap(pointer(address + bytes), page_bytes - head);
  table_.add_range(address, bytes);
  return address;
}

// Grows the file in large steps, since each is a system call; the file is sparse, so its size costs
// nothing.
Status HostBackend::grow_file(std::uint64_t pages) {
  if (pages <= file_pages_) return Done{};
  std::uint64_t wanted = std::max(pages, file_pages_ * 2);
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    // Beyond this limit the kernel sends SIGXFSZ.
    wanted = std::min<std::uint64_t>(wanted, limit.rlim_cur / page_bytes);
    if (wanted < pages)
      return failed(fmt::format("growing the memory file over its size limit of {}",
                                to_string(Bytes{limit.rlim_cur})),
                    ENOSPC, "ulimit -f unlimited");
  }
  if (::ftruncate(file_, offset_of(wanted)) != 0)
    return failed("growing the memory file", errno, "free -h shows what memory is left");
  file_pages_ = wanted;
  return Done{};
}

Status HostBackend::take(std::uint64_t bytes, const TakeSlice& take_slice) {
  const std::uint64_t held = table_.pages() * page_bytes + plain_.bytes();
  const auto take_all = [&]() -> Status {
    for (std::uint64_t taken = 0; taken < bytes;) {
      HEADROOM_TRY(const std::uint64_t slice, memory_.grant(bytes - taken, held + taken));
      HEADROOM_CHECK(take_slice(taken, slice));
      taken += slice;
    }
    return Done{};
  };
  auto taken = take_all();
  if (taken) return taken;
  return std::move(taken).error().in(fmt::format("taking {} of host memory on top of {}",
                                                 to_string(Bytes{bytes}), to_string(Bytes{held})));
}

// A page's number is its place in the file.
Result<PageHandle> HostBackend::create_pages(std::uint32_t count) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_CHECK(PageTable::check_count(count));
  const PageHandle pages = table_.next_pages(count);
  HEADROOM_CHECK(grow_file(std::uint64_t{pages} + count));
  auto taken = take(count * page_bytes, [&](std::uint64_t offset, std::uint64_t bytes) -> Status {
    while (::fallocate(file_, 0, offset_of(pages) + static_cast<off_t>(offset),
                       static_cast<off_t>(bytes)) != 0) {
      if (errno != EINTR) return failed("filling the memory file", errno, look_at_memory);
    }
    return Done{};
  });
  if (!taken) {
    static_cast<void>(punch(pages, count));  // Some pages may have been taken.
    return std::move(taken).error();
  }
  table_.add_pages(count);
  return pages;
}

bool HostBackend::punch(PageHandle first, std::uint32_t count) const {
  return ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset_of(first),
                     offset_of(count)) == 0;
}

Status HostBackend::destroy_pages(PageHandle pages) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_TRY(const PageTable::Pages unmapped, table_.unmapped(pages));
  if (!punch(unmapped.handle, unmapped.count))
    return failed(fmt::format("returning {} of host memory", to_string(Bytes{unmapped.bytes()})),
                  errno, "");
  HEADROOM_CHECK(table_.remove_pages(pages));
  return Done{};
}

Status HostBackend::map(std::uint64_t address, PageHandle pages) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_TRY(const PageTable::Pages handle, table_.map(address, pages));
  void* place = pointer(address);
  const bool mapped = ::mmap(place, handle.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                             file_, offset_of(pages)) == place;
  if (mapped && ::madvise(place, handle.bytes(), MADV_DONTFORK) == 0) return Done{};
  const int code = errno;
  // A failed mmap() may have unmapped what was there, and nobody else must get these addresses.
  static_cast<void>(cover(place, handle.bytes()));
  HEADROOM_CHECK(table_.unmap(address));
  return failed_to_map("mapping pages", code, table_.mapped_pages());
}

Status HostBackend::unmap(std::uint64_t address) {
  HEADROOM_CHECK(check_virtual_memory());
  HEADROOM_TRY(const PageTable::Pages pages, table_.unmap(address));
  if (cover(pointer(address), pages.bytes())) return Done{};
  const int code = errno;
  HEADROOM_CHECK(table_.map(address, pages.handle));
  return failed_to_map("unmapping pages", code, table_.mapped_pages());
}

Status HostBackend::allow_access(std::uint64_t address, std::uint64_t bytes) {
  HEADROOM_CHECK(check_virtual_memory());
  return table_.check_mapped(address, bytes);  // map() has allowed it already.
}

Result<std::uint64_t> HostBackend::allocate(std::uint64_t bytes) {
  HEADROOM_CHECK(check_owner());
  HEADROOM_CHECK(PlainTable::check_size(bytes));
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    return failed(fmt::format("taking {} of host memory", to_string(Bytes{bytes})), errno,
                  look_at_memory);
  // The memory is filled at once, so that missing memory is an Error here and not a signal later.
  auto taken = take(bytes, [start](std::uint64_t offset, std::uint64_t slice) {
    return populate(static_cast<char*>(start) + offset, slice);
  });
  if (!taken) {
    ::munmap(start, bytes);
    return std::move(taken).error();
  }
  static_cast<void>(::madvise(start, bytes, MADV_DONTFORK));  // As for pages.
  plain_.add(number(start), bytes);
  return number(start);
}

Status HostBackend::release(std::uint64_t address) {
  HEADROOM_CHECK(check_owner());
  HEADROOM_TRY(const std::uint64_t bytes, plain_.size_of(address));
  if (::munmap(pointer(address), bytes) != 0) return failed("returning host memory", errno, "");
  HEADROOM_CHECK(plain_.remove(address));
  return Done{};
}

void HostBackend::bind_stream(StreamId /*stream*/, std::uintptr_t /*native*/) {}

Status HostBackend::wait_for(StreamId /*stream*/) {
  return Done{};  // The CPU's work is done when its calls return.
}

Result<EventId> HostBackend::record(StreamId /*stream*/) {
  return EventId{1};
}

Result<bool> HostBackend::passed(EventId /*event*/) {
  return true;
}

}  // namespace headroom::allocator
