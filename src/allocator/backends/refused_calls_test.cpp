// SPDX-License-Identifier: Apache-2.0
// A part of the conformance suite: whatever below a backend refuses a call, memory, files or a
// driver, everything is as it was, and the same call succeeds later.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "allocator/backends/device_backend.h"
#include "allocator/backends/driver_access.h"
#include "allocator/backends/host.h"
#include "allocator/backends/host_access.h"
#include "allocator/backends/testing/fake_driver.h"
#include "allocator/simulated_backend.h"
#include "allocator/testing/faulty_backend.h"

namespace headroom::allocator {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

constexpr std::array<std::pair<BackendCall, const char*>, 12> calls = {
    {{BackendCall::reserve, "reserve"},
     {BackendCall::create, "create"},
     {BackendCall::destroy, "destroy"},
     {BackendCall::map, "map"},
     {BackendCall::allow_access, "allow_access"},
     {BackendCall::unmap, "unmap"},
     {BackendCall::allocate, "allocate"},
     {BackendCall::release, "release"},
     {BackendCall::wait, "wait"},
     {BackendCall::record, "record"},
     {BackendCall::passed, "passed"},
     {BackendCall::device_memory, "device_memory"}}};

bool is_about_pages(BackendCall call) {
  return call <= BackendCall::unmap;
}

// A backend, its contents where it has any, and how to make what is below it refuse.
class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;

  virtual Backend& backend() = 0;
  virtual DeviceAccess* access() { return nullptr; }
  // From now on this call is refused; nothing: none is. False where that cannot be brought about.
  virtual bool refuse(std::optional<BackendCall> call) = 0;
  // Ends the backend; how much it had not given back.
  virtual std::uint64_t end() = 0;
};

class FaultySubject final : public Subject {
 public:
  explicit FaultySubject(bool has_pages)
      : device_(std::uint64_t{1} << 20U, has_pages ? SimulatedBackend::assumed_capabilities()
                                                   : SimulatedBackend::without_virtual_memory()) {}
  Backend& backend() override { return faulty_; }
  bool refuse(std::optional<BackendCall> call) override {
    if (call == BackendCall::device_memory) return false;  // Nobody counts it.
    for (const auto& [each, name] : calls) faulty_.fail(each, UINT64_MAX);
    if (call) faulty_.fail(*call, faulty_.calls(*call) + 1, 1000);
    return true;
  }
  std::uint64_t end() override { return device_.table().pages(); }

 private:
  SimulatedBackend device_;
  FaultyBackend faulty_{device_};
};

class DriverSubject final : public Subject {
 public:
  explicit DriverSubject(const Capabilities& capabilities) {
    auto driver = std::make_unique<testing::FakeDriver>(testing::Fault::none, &left_);
    driver_ = driver.get();
    using Use = VirtualMemoryVerdict::Use;
    backend_ = std::make_unique<DeviceBackend>(
        std::move(driver), VirtualMemoryVerdict{capabilities.virtual_memory ? Use::yes : Use::no,
                                                "in a test", capabilities});
    access_.emplace(*driver_);
  }
  Backend& backend() override { return *backend_; }
  DeviceAccess* access() override { return &*access_; }
  bool refuse(std::optional<BackendCall> call) override {
    const bool keeps_pages = !backend_->capabilities().destroy_returns_memory;
    if (call == BackendCall::destroy && keeps_pages) return false;  // The driver is not asked.
    driver_->refuse(call);
    return true;
  }
  std::uint64_t end() override {
    backend_.reset();
    return left_;
  }

 private:
  std::size_t left_ = 99;
  testing::FakeDriver* driver_ = nullptr;
  std::unique_ptr<DeviceBackend> backend_;
  std::optional<DriverAccess> access_;
};

// The kernel refuses to change a memory file that is open for reading, and to give addresses beyond
// a limit. Everything else it does not refuse here.
class HostSubject final : public Subject {
 public:
  explicit HostSubject(HostBackend::VirtualMemory virtual_memory) {
    backend_ = std::move(*HostBackend::create(virtual_memory));
    access_.emplace(*backend_);
    file_ = memory_file();
    writable_ = ::dup(file_);
    readable_ = ::open(("/proc/self/fd/" + std::to_string(file_)).c_str(), O_RDONLY | O_CLOEXEC);
    ::getrlimit(RLIMIT_AS, &addresses_);
  }
  ~HostSubject() override {
    ::close(writable_);
    ::close(readable_);
  }
  Backend& backend() override { return *backend_; }
  DeviceAccess* access() override { return &*access_; }
  bool refuse(std::optional<BackendCall> call) override {
    ::setrlimit(RLIMIT_AS, &addresses_);
    ::dup2(writable_, file_);
    if (!call) return true;
    using enum BackendCall;
    if (call == create || call == destroy || call == map) return ::dup2(readable_, file_) == file_;
    if (call != reserve && call != allocate) return false;
    const rlimit tight{used_addresses() + mib, addresses_.rlim_max};
    return ::setrlimit(RLIMIT_AS, &tight) == 0;
  }
  std::uint64_t end() override { return *backend_->held_bytes(); }

 private:
  static int memory_file() {
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const auto target = std::filesystem::read_symlink(each.path(), gone);
      if (target.string().starts_with("/memfd:headroom ")) return std::stoi(each.path().filename());
    }
    return -1;
  }
  static std::uint64_t used_addresses() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }

  std::unique_ptr<HostBackend> backend_;
  std::optional<HostAccess> access_;
  int file_ = -1;
  int writable_ = -1;
  int readable_ = -1;
  rlimit addresses_{};
};

struct Kind {
  const char* name;
  std::unique_ptr<Subject> (*make)();
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

constexpr Capabilities pages_that_go_back = {
    .virtual_memory = true, .destroy_returns_memory = true, .several_pages_per_handle = true};
constexpr Capabilities pages_that_are_kept = {.virtual_memory = true,
                                              .several_pages_per_handle = true};

const std::array<Kind, 7> kinds = {{
    {"faulty", []() -> std::unique_ptr<Subject> { return std::make_unique<FaultySubject>(true); }},
    {"faulty_plain",
     []() -> std::unique_ptr<Subject> { return std::make_unique<FaultySubject>(false); }},
    {"device",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<DriverSubject>(pages_that_go_back);
     }},
    {"device_that_keeps_pages",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<DriverSubject>(pages_that_are_kept);
     }},
    {"plain_device",
     []() -> std::unique_ptr<Subject> { return std::make_unique<DriverSubject>(Capabilities{}); }},
    {"host",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<HostSubject>(HostBackend::VirtualMemory::on);
     }},
    {"plain_host",
     []() -> std::unique_ptr<Subject> {
       return std::make_unique<HostSubject>(HostBackend::VirtualMemory::off);
     }},
}};

using Call = std::pair<BackendCall, const char*>;

class RefusedCalls : public ::testing::TestWithParam<std::tuple<Kind, Call>> {
 protected:
  void SetUp() override {
    subject_ = std::get<0>(GetParam()).make();
    call_ = std::get<1>(GetParam()).first;
    has_pages_ = backend().capabilities().virtual_memory;
    if (!has_pages_ && is_about_pages(call_)) GTEST_SKIP() << "no virtual memory";
    if (!subject_->refuse(call_)) GTEST_SKIP() << "nothing below can refuse this";
    subject_->refuse(std::nullopt);
    build();
  }

  Backend& backend() { return subject_->backend(); }

  // A handle of two pages and one of one are mapped beside each other, one is not mapped, and there
  // is a plain allocation.
  void build() {
    plain_ = *backend().allocate(4 * mib);
    event_ = *backend().record(0);
    ASSERT_TRUE(backend().wait_for(0).has_value());
    put(plain_ + 4 * mib - 8, 4);
    if (!has_pages_) return;
    base_ = *backend().reserve_range(16 * mib);
    two_ = *backend().create_pages(2);
    one_ = *backend().create_pages(1);
    spare_ = *backend().create_pages(1);
    ASSERT_TRUE(backend().map(base_ + 6 * mib, spare_) &&
                backend().allow_access(base_ + 6 * mib, 2 * mib));
    put(base_ + 6 * mib, 3);
    ASSERT_TRUE(backend().unmap(base_ + 6 * mib).has_value());
    ASSERT_TRUE(backend().map(base_, two_) && backend().map(base_ + 4 * mib, one_));
    ASSERT_TRUE(backend().allow_access(base_, 6 * mib).has_value());
    put(base_ + 2 * mib, 1);
    put(base_ + 4 * mib, 2);
  }

  bool make_call() {
    switch (call_) {
      case BackendCall::reserve:
        return backend().reserve_range(6 * mib).has_value();
      case BackendCall::create:
        return note_created(backend().create_pages(2));
      case BackendCall::destroy:
        return backend().destroy_pages(spare_).has_value();
      case BackendCall::map:
        return backend().map(base_ + 6 * mib, spare_).has_value();
      case BackendCall::allow_access:
        return backend().allow_access(base_, 6 * mib).has_value();
      case BackendCall::unmap:
        return backend().unmap(base_ + 4 * mib).has_value();
      case BackendCall::allocate:
        return note_allocated(backend().allocate(2 * mib));
      case BackendCall::release:
        return backend().release(plain_).has_value();
      case BackendCall::wait:
        return backend().wait_for(0).has_value();
      case BackendCall::record:
        return backend().record(0).has_value();
      case BackendCall::passed:
        return backend().passed(event_).value_or(false);
      case BackendCall::device_memory:
        return backend().device_memory().has_value();
    }
    return false;
  }

  void expect_as_it_was() {
    expect(plain_ + 4 * mib - 8, 4);
    if (!has_pages_) return;
    expect(base_ + 2 * mib, 1);
    expect(base_ + 4 * mib, 2);
    EXPECT_TRUE(backend().allow_access(base_, 6 * mib).has_value()) << "it is mapped";
    EXPECT_FALSE(backend().allow_access(base_ + 6 * mib, 2 * mib).has_value()) << "it is not";
    EXPECT_FALSE(backend().destroy_pages(two_).has_value()) << "it is mapped";
    EXPECT_FALSE(backend().map(base_, spare_).has_value()) << "something is there";
    ASSERT_TRUE(backend().map(base_ + 6 * mib, spare_) &&
                backend().allow_access(base_ + 6 * mib, 2 * mib))
        << "the handle is there, and mapped nowhere";
    expect(base_ + 6 * mib, 3);
    EXPECT_TRUE(backend().unmap(base_ + 6 * mib).has_value());
  }

  // What the call did is undone, and everything goes back.
  void give_all_back() {
    using enum BackendCall;
    if (call_ != release) {
      EXPECT_TRUE(backend().release(plain_).has_value());
    }
    if (call_ == allocate) {
      EXPECT_TRUE(backend().release(allocated_).has_value());
    }
    if (!has_pages_) return;
    if (call_ == create) {
      EXPECT_TRUE(backend().destroy_pages(created_).has_value());
    }
    if (call_ == map) {
      EXPECT_TRUE(backend().unmap(base_ + 6 * mib).has_value());
    }
    EXPECT_TRUE(backend().unmap(base_).has_value());
    EXPECT_EQ(backend().unmap(base_ + 4 * mib).has_value(), call_ != unmap);
    EXPECT_EQ(backend().destroy_pages(spare_).has_value(), call_ != destroy);
    EXPECT_TRUE(backend().destroy_pages(two_) && backend().destroy_pages(one_));
  }

  std::unique_ptr<Subject> subject_;
  BackendCall call_ = BackendCall::reserve;

 private:
  bool note_created(Result<PageHandle> pages) {
    created_ = pages.value_or(0);
    return pages.has_value();
  }
  bool note_allocated(Result<std::uint64_t> address) {
    allocated_ = address.value_or(0);
    return address.has_value();
  }
  void put(std::uint64_t address, std::uint64_t word) {
    if (subject_->access() == nullptr) return;
    ASSERT_TRUE(subject_->access()->write(address, {&word, 1}).has_value());
  }
  void expect(std::uint64_t address, std::uint64_t word) {
    if (subject_->access() == nullptr) return;
    std::uint64_t found = 0;
    ASSERT_TRUE(subject_->access()->read(address, {&found, 1}).has_value());
    EXPECT_EQ(found, word);
  }

  bool has_pages_ = false;
  std::uint64_t plain_ = 0;
  std::uint64_t allocated_ = 0;
  std::uint64_t base_ = 0;
  EventId event_ = 0;
  PageHandle two_ = 0;
  PageHandle one_ = 0;
  PageHandle spare_ = 0;
  PageHandle created_ = 0;
};

TEST_P(RefusedCalls, leave_everything_as_it_was) {
  for (int times = 0; times < 3; ++times) {
    ASSERT_TRUE(subject_->refuse(call_));
    const bool done = make_call();
    subject_->refuse(std::nullopt);
    ASSERT_FALSE(done);
    expect_as_it_was();
  }
  EXPECT_TRUE(make_call()) << "the same call, when it is not refused";
  give_all_back();
  EXPECT_EQ(subject_->end(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Backends, RefusedCalls,
                         ::testing::Combine(::testing::ValuesIn(kinds), ::testing::ValuesIn(calls)),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param).name) + "_" +
                                  std::get<1>(each.param).second;
                         });

}  // namespace
}  // namespace headroom::allocator
