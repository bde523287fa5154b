// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/c10d_group.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "trainer/ranks/c10d_pulse.h"
#include "trainer/ranks/c10d_store.h"

namespace headroom::trainer {
namespace {

using namespace std::chrono_literals;
using averager::ElementType;
using Gloo = c10d::ProcessGroupGloo;

constexpr std::uint64_t staging_size = 16U << 20U;
constexpr auto look_again = 100ms;
// A rank may be far behind: it writes a checkpoint, or its micro-batch takes minutes. One that is
// gone is noticed by its pulse.
constexpr auto longest_wait = 24h;

Error lost_rank(const std::string& why) {
  return {Errc::io, "another rank is gone: " + why,
          "what it printed says why; then the same command with --resume, on the machines that are "
          "left"};
}

// A thread's work, which may never end: it is left behind then.
struct Beside {
  std::atomic<bool> done = false;
  std::optional<std::string> failure;
  c10::intrusive_ptr<Gloo> made;
};

// Connects every rank with every other one, which waits for those that are on their way.
Result<c10::intrusive_ptr<Gloo>> connect_all(const RankPlace& place, const Meeting& meeting,
                                             const Pulse& pulse, Observer& observer) {
  auto beside = std::make_shared<Beside>();
  // As everywhere with Gloo, an interface may be named; else the one that leads to rank 0.
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");  // NOLINT(concurrency-mt-unsafe)
  std::thread([=, name = std::string(interface == nullptr ? "" : interface)] {
    try {
      auto options = Gloo::Options::create();
      options->timeout = longest_wait;
      options->threads = 1;
      options->devices.push_back(name.empty() ? Gloo::createDeviceForHostname(meeting.address)
                                              : Gloo::createDeviceForInterface(name));
      beside->made = c10::make_intrusive<Gloo>(meeting.store, static_cast<int>(place.rank),
                                               static_cast<int>(place.ranks), std::move(options));
    } catch (const std::exception& error) {
      beside->failure = what_c10d_says(error);
    }
    beside->done = true;
  }).detach();
  while (!beside->done) {
    if (const auto lost = pulse.lost()) return lost_rank(*lost);
    if (observer.wants_stop())
      return Error{Errc::io, "stopped by request, before the ranks were connected",
                   "start them again"};
    std::this_thread::sleep_for(look_again);
  }
  if (beside->failure)
    return Error{Errc::io, "the ranks could not connect to each other: " + *beside->failure,
                 "see whether a firewall is between the machines; GLOO_SOCKET_IFNAME names the "
                 "interface to use"};
  return std::move(beside->made);
}

class C10dGroup final : public RankGroup {
 public:
  C10dGroup(const RankPlace& place, std::unique_ptr<Pulse> pulse, c10::intrusive_ptr<Gloo> gloo)
      : ranks_(place.ranks),
        pulse_(std::move(pulse)),
        gloo_(std::move(gloo)),
        staging_(staging_size + room_for_shares()),
        beside_(staging_.size()) {}

  ~C10dGroup() override {
    // What waits inside of Gloo for a rank that is gone would be waited for here.
    if (broken_) {
      static_cast<void>(gloo_.release());
      return;
    }
    gloo_.reset();  // First, so that whoever still waits for this rank learns it.
    pulse_->leave();
  }

  std::byte* staging() override { return staging_.data(); }
  std::uint64_t staging_bytes() const override { return staging_size; }

  std::uint32_t present() const override { return all(); }

  Result<std::uint32_t> sum(ElementType type, std::uint64_t elements) override {
    const std::uint64_t share = (elements + ranks_ - 1) / ranks_;
    const std::uint64_t bytes = share * averager::bytes_of(type);
    HEADROOM_CHECK(exchange(staging_.data(), beside_.data(), bytes));
    std::vector<const std::byte*> inputs;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank)
      inputs.push_back(beside_.data() + rank * bytes);
    averager::sum(type, inputs, 1, staging_.data(), share);
    for (std::uint32_t rank = 0; rank < ranks_; ++rank)
      averager::copy(staging_.data(), beside_.data() + rank * bytes, bytes);
    HEADROOM_CHECK(exchange(beside_.data(), staging_.data(), bytes));
    return all();
  }

  Result<std::uint32_t> broadcast(std::uint32_t from, std::uint64_t bytes) override {
    std::vector<at::Tensor> tensors = {view(staging_.data(), bytes)};
    c10d::BroadcastOptions options;
    options.rootRank = static_cast<std::int64_t>(from);
    HEADROOM_CHECK(wait([&] { return gloo_->broadcast(tensors, options); }));
    return all();
  }

 private:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  // Every rank's share is of the same size.
  std::uint64_t room_for_shares() const { return ranks_ * sizeof(float); }
  std::uint32_t all() const { return (std::uint32_t{1} << ranks_) - 1; }

  // Not one of the device's tensors: nothing is allocated.
  static at::Tensor view(std::byte* data, std::uint64_t bytes) {
    return at::from_blob(data, {static_cast<std::int64_t>(bytes)}, at::kByte);
  }

  // Part r of `from` goes to rank r, part r of `into` comes from it.
  Status exchange(std::byte* from, std::byte* into, std::uint64_t part) {
    at::Tensor input = view(from, part * ranks_), output = view(into, part * ranks_);
    std::vector<std::int64_t> equal;
    return wait([&] { return gloo_->alltoall_base(output, input, equal, equal); });
  }

  Status wait(const std::function<WorkPtr()>& start) {
    if (broken_) return *broken_;
    std::optional<std::string> why;
    try {
      const WorkPtr work = start();
      while (!work->isCompleted()) {
        why = pulse_->lost();
        if (why) break;
        wait_a_little(*work);
      }
      if (!why) work->wait();  // Throws what went wrong.
    } catch (const std::exception& error) {
      why = what_c10d_says(error);
    }
    if (!why) return Done{};
    broken_ = lost_rank(*why);
    return *broken_;
  }

  // wait() throws if it is not done in time.
  static void wait_a_little(c10d::Work& work) {
    try {
      work.wait(look_again);
    } catch (const std::exception&) {
      if (work.isCompleted()) throw;
    }
  }

  std::uint32_t ranks_;
  std::unique_ptr<Pulse> pulse_;
  c10::intrusive_ptr<Gloo> gloo_;
  std::vector<std::byte> staging_;
  std::vector<std::byte> beside_;
  std::optional<Error> broken_;  // With which everything fails from now on.
};

}  // namespace

Result<std::unique_ptr<RankGroup>> join_c10d(const RankPlace& place, std::uint64_t job,
                                             Observer& observer, const JoinTimes& times) {
  HEADROOM_TRY(const Meeting meeting, meet(place, job, times, observer));
  HEADROOM_TRY(StorePtr again, connect_again(place));
  auto pulse = std::make_unique<Pulse>(std::move(again), place.rank, place.ranks, times.silent);
  HEADROOM_TRY(auto gloo, connect_all(place, meeting, *pulse, observer));
  return std::unique_ptr<RankGroup>(
      std::make_unique<C10dGroup>(place, std::move(pulse), std::move(gloo)));
}

}  // namespace headroom::trainer
