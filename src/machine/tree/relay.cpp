// SPDX-License-Identifier: Apache-2.0
#include "machine/tree/relay.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "machine/os_error.h"
#include "machine/tree/relay_ends.h"
#include "machine/tree/relay_passing.h"
#include "machine/tree/wait.h"

namespace headroom::machine {
namespace {

class ThreadedRelay : public Relay {
 public:
  ThreadedRelay(RelayEnds ends, int target, Reader reader)
      : writing_(std::move(ends.writing)),
        is_terminal_(ends.is_terminal),
        passing_(
            std::make_shared<RelayPassing>(std::move(ends.reading), target, std::move(reader))) {}
  ~ThreadedRelay() override {
    abandon();
    finish(0);
  }

  Status begin();
  int source() const override { return writing_.get(); }
  void close_source() override { writing_ = Descriptor(); }
  bool is_terminal() const override { return is_terminal_; }
  std::uint64_t bytes() const override { return passing_->bytes(); }
  bool is_in_line() const override { return passing_->is_in_line(); }
  int descriptor() const override { return passing_->done(); }
  void stop_reading() override { passing_->stop_reading(); }
  bool finish(std::optional<std::uint64_t> timeout_ms) override;
  void stop_telling() override { passing_->stop_telling(); }
  void abandon() override;
  std::optional<Error> problem() const override { return passing_->problem(); }
  bool copy_window_size() override;

 private:
  Descriptor writing_;
  bool is_terminal_;
  bool was_abandoned_ = false;
  std::shared_ptr<RelayPassing> passing_;
  std::thread passer_;
  std::thread reader_;
};

Status ThreadedRelay::begin() {
  HEADROOM_CHECK(passing_->prepare());
  try {
    // Each has its share of what they work on: a stuck one outlives us.
    passer_ = std::thread([passing = passing_] { passing->pass_on(); });
    reader_ = std::thread([passing = passing_] { passing->read_along(); });
  } catch (const std::system_error& error) {
    return os_error(error.code().value(), "starting a thread");
  }
  return Done{};
}

bool ThreadedRelay::finish(std::optional<std::uint64_t> timeout_ms) {
  close_source();
  if (passer_.joinable()) {
    const std::array done{passing_->done()};
    if (!wait_readable(done, timeout_ms)[0]) {
      passing_->stop_reading();
      // Whoever is to take it takes the time that they take, unless they were given up.
      constexpr std::uint64_t grace_ms = 200;
      std::optional<std::uint64_t> patience_ms;
      if (was_abandoned_) patience_ms = grace_ms;
      if (!wait_readable(done, patience_ms)[0]) passer_.detach();
    }
    if (passer_.joinable()) passer_.join();
  }
  if (reader_.joinable()) {
    passing_->hand_over();
    reader_.join();
    passing_->read_rest();
  }
  return passing_->has_ended();
}

void ThreadedRelay::abandon() {
  was_abandoned_ = true;
  passing_->abandon();
}

bool ThreadedRelay::copy_window_size() {
  return is_terminal_ && passing_->copy_window_size();
}

}  // namespace

Result<std::unique_ptr<Relay>> Relay::start(int target, Reader reader) {
  auto made = is_open_terminal(target) ? make_terminal_ends(target) : make_pipe_ends();
  if (!made) return std::move(made).error();
  auto relay = std::make_unique<ThreadedRelay>(std::move(*made), target, std::move(reader));
  HEADROOM_CHECK(relay->begin());
  return relay;
}

bool Relay::is_same_target(int one, int other) {
  return is_same_stream(one, other);
}

}  // namespace headroom::machine
