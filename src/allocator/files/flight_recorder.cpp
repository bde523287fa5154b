// SPDX-License-Identifier: Apache-2.0
#include "allocator/files/flight_recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include "allocator/files/process_identity.h"
#include "allocator/replay/recording.h"
#include "machine/clock.h"
#include "machine/descriptor.h"
#include "machine/os_error.h"

namespace headroom::allocator {
namespace {

Error failed(std::string_view doing, const std::string& path) {
  Error error = machine::os_error(errno, fmt::format("{} the flight recording {}", doing, path));
  error.next = "give a path in a folder that can be written and has room";
  return error;
}

// A recorder holds this lock on its file, so that no other process replaces it meanwhile. The lock
// belongs to the open file: it also ends with an exec, and lasts in forked children.
struct flock recorder_lock() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

bool is_being_written(int file, const FlightHeader& header) {
  struct flock lock = recorder_lock();
  const bool locked = ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  return locked && header.closed != 1 && read_start_ticks(header.pid) == header.pid_start;
}

// Removes an old recording, but no other kind of file, and no recording that is still being
// written.
Status remove_old(const std::string& path) {
  const machine::Descriptor old(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (old.get() < 0) {
    if (errno == ENOENT) return Done{};
    return failed("replacing", path);
  }
  struct stat found = {};
  if (::fstat(old.get(), &found) != 0) return failed("looking at", path);
  FlightHeader header;
  const ssize_t got =
      S_ISREG(found.st_mode) ? ::pread(old.get(), &header, sizeof header, 0) : ssize_t{-1};
  const bool is_ours = got == 0 || (got >= static_cast<ssize_t>(flight_magic.size()) &&
                                    is_flight_record({header.magic.data(), header.magic.size()}));
  if (!is_ours)
    return Error{
        Errc::invalid,
        fmt::format("expected a flight recording or nothing at {}, found {}", path,
                    S_ISREG(found.st_mode) ? "another file" : "a folder, a device or a pipe"),
        "give another path"};
  if (got == sizeof header && is_being_written(old.get(), header))
    return Error{Errc::busy,
                 fmt::format("expected nobody to record into {}, found that process {} does", path,
                             header.pid),
                 "give every allocator a path of its own"};
  if (::unlink(path.c_str()) != 0) return failed("replacing", path);
  return Done{};
}

Result<machine::Descriptor> create_file(const std::string& path, std::size_t bytes) {
  HEADROOM_CHECK(remove_old(path));
  machine::Descriptor file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return failed("creating", path);
  // If the file system has no locks, a second recorder on the same path is not noticed.
  struct flock lock = recorder_lock();
  static_cast<void>(::fcntl(file.get(), F_OFD_SETLK, &lock));
  const int code = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (code == 0) return file;
  errno = code;
  Error error = failed("taking the space of", path);
  ::unlink(path.c_str());
  return error;
}

std::uint64_t unix_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

FlightHeader make_sizes(const FlightOptions& options) {
  FlightHeader header;
  header.shards = options.shards + 1;
  header.device_ring = header.shards;
  header.shard_records = std::bit_ceil(options.shard_records);
  header.name_bytes = options.name_bytes;
  return header;
}

Result<FlightHeader> make_header(const FlightOptions& options) {
  if (options.shards == 0 || options.shards > 1023 || options.shard_records == 0 ||
      options.shard_records > (std::uint64_t{1} << 32U) ||
      options.name_bytes > (std::uint64_t{64} << 20U))
    return Error{Errc::invalid,
                 "expected 1 to 1023 rings of 1 to 2^32 records and at most 64 MiB of names for a "
                 "flight recording",
                 "65536 records take 2 MiB"};
  FlightHeader header = make_sizes(options);
  std::copy(flight_magic.begin(), flight_magic.end(), header.magic.begin());
  header.capacity_bytes = options.capacity_bytes;
  HEADROOM_TRY(const ProcessIdentity own, read_own_identity());
  header.pid = own.pid;
  header.pid_start = own.start_ticks;
  header.start_unix_us = unix_us();
  options.device.copy(header.device.data(), header.device.size());
  return header;
}

}  // namespace

std::uint64_t flight_file_bytes(const FlightOptions& options) {
  return layout_of(make_sizes(options)).end;
}

class FlightRecorder::Clock final : public FlightClock {
 public:
  std::uint64_t now_us() override { return (machine::monotonic_ns() - start_ns_) / 1000; }

 private:
  std::uint64_t start_ns_ = machine::monotonic_ns();
};

// The file, and a page that a forked child sees as zeros.
class FlightRecorder::Mapping {
 public:
  Mapping(machine::Descriptor lock, std::span<char> file, std::uint64_t* alive)
      : lock_(std::move(lock)), file_(file), alive_(alive) {}
  ~Mapping() {
    ::munmap(file_.data(), file_.size());
    ::munmap(alive_, sizeof *alive_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  static Result<std::unique_ptr<Mapping>> create(const std::string& path,
                                                 const FlightHeader& header) {
    const std::size_t bytes = layout_of(header).end;
    HEADROOM_TRY(machine::Descriptor file, create_file(path, bytes));
    // All pages are filled at once, since a page fault costs as much as a hundred events.
    void* mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0);
    if (mapped == MAP_FAILED) return failed("mapping", path);
    void* alive = ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (alive == MAP_FAILED || ::madvise(alive, sizeof(std::uint64_t), MADV_WIPEONFORK) != 0) {
      Error error = failed("guarding against forks", path);
      ::munmap(mapped, bytes);
      if (alive != MAP_FAILED) ::munmap(alive, sizeof(std::uint64_t));
      return error;
    }
    *static_cast<std::uint64_t*>(alive) = 1;
    std::memcpy(mapped, &header, sizeof header);
    return std::make_unique<Mapping>(std::move(file), std::span(static_cast<char*>(mapped), bytes),
                                     static_cast<std::uint64_t*>(alive));
  }

  bool alive() const { return *alive_ != 0; }
  const std::uint64_t* alive_word() const { return alive_; }
  FlightHeader& header() { return *reinterpret_cast<FlightHeader*>(file_.data()); }
  char* at(std::size_t offset) { return file_.data() + offset; }
  std::uint64_t* words_at(std::size_t offset) {
    return reinterpret_cast<std::uint64_t*>(file_.data() + offset);
  }

 private:
  machine::Descriptor lock_;
  std::span<char> file_;
  std::uint64_t* alive_;
};

Result<std::unique_ptr<FlightRecorder>> FlightRecorder::create(const std::string& path,
                                                               const FlightOptions& options) {
  HEADROOM_TRY(const FlightHeader header, make_header(options));
  HEADROOM_TRY(auto mapping, Mapping::create(path, header));
  return std::unique_ptr<FlightRecorder>(
      new FlightRecorder(std::move(mapping), std::make_unique<Clock>()));
}

FlightRecorder::FlightRecorder(std::unique_ptr<Mapping> mapping, std::unique_ptr<Clock> clock)
    : mapping_(std::move(mapping)), clock_(std::move(clock)) {
  const FlightHeader& header = mapping_->header();
  const FlightLayout layout = layout_of(header);
  const auto written = [&](std::uint32_t ring) {
    return mapping_->words_at(layout.shards + ring * flight_shard_bytes);
  };
  const std::uint32_t device = header.shards - 1;
  shards_.reserve(header.shards);
  for (std::uint32_t i = 0; i < header.shards; ++i) {
    const std::size_t records = layout.records + i * header.shard_records * flight_record_bytes;
    shards_.emplace_back(
        FlightShard::Memory{.records = mapping_->words_at(records),
                            .written = written(i),
                            .count = header.shard_records,
                            .alive = mapping_->alive_word(),
                            .device_written = i == device ? nullptr : written(device)},
        *clock_);
  }
}

FlightRecorder::~FlightRecorder() {
  if (mapping_->alive()) std::atomic_ref(mapping_->header().closed).store(1);
}

void FlightRecorder::add_names(const NameTable& names) {
  const MutexLock lock(names_mutex_);
  if (!mapping_->alive()) return;
  const FlightHeader& header = mapping_->header();
  for (; names_written_ < names.size(); ++names_written_) {
    const std::string_view name = names.name(static_cast<NameId>(names_written_ + 1));
    if (name.size() + 1 > header.name_bytes - name_bytes_written_) return;
    char* place = mapping_->at(layout_of(header).names + name_bytes_written_);
    std::copy(name.begin(), name.end(), place + 1);
    // The length is written last; until then the list ends here.
    std::atomic_ref(*place).store(static_cast<char>(name.size()), std::memory_order_release);
    name_bytes_written_ += 1 + name.size();
  }
}

}  // namespace headroom::allocator
