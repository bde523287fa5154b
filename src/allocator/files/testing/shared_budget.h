// SPDX-License-Identifier: Apache-2.0
// A ledger in a folder of its own, and child processes to share it with.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "allocator/files/budget_ledger.h"
#include "machine/temporary_folder.h"
#include "machine/user_files.h"

namespace headroom::allocator::testing {

inline constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t total = 1024 * mib;

class SharedBudget : public ::testing::Test {
 protected:
  SharedBudget() : folder_(*machine::TemporaryFolder::make()), path_(folder_.path() + "/ledger") {}

  Result<std::unique_ptr<BudgetLedger>> join(Share share = {}) const {
    return BudgetLedger::join(path_, {.total_bytes = total, .share = share});
  }
  std::unique_ptr<BudgetLedger> joined(Share share = {}) const {
    auto ledger = join(share);
    if (!ledger) throw std::runtime_error(ledger.error().message);  // Fails the test.
    return std::move(*ledger);
  }
  std::string file() const { return *machine::read_file(path_); }
  void overwrite(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  Ledger ledger() const { return *parse_ledger(file()); }
  std::uint64_t held() const {
    std::uint64_t sum = 0;
    for (const auto& entry : ledger().entries) sum += entry ? entry->held_bytes : 0;
    return sum;
  }

  machine::TemporaryFolder folder_;
  std::string path_;
};

// A child that does some work and then waits to be killed; this object's destructor kills it.
class Child {
 public:
  explicit Child(const std::function<void()>& work) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      work();
      static_cast<void>(::write(ends[1], "x", 1));
      for (;;) ::pause();
    }
    ::close(ends[1]);
    done_ = ends[0];
  }
  ~Child() {
    kill();
    ::close(done_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits for the work. Returns false if the child died instead of finishing it.
  bool wait_done() const {
    char byte = 0;
    return ::read(done_, &byte, 1) == 1;
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int done_ = -1;
};

}  // namespace headroom::allocator::testing
