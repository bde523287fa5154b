// SPDX-License-Identifier: Apache-2.0
// What headroom needs to finish, with and without virtual memory, on traces made here and on the
// recorded ones: not only at the limit but at every capacity above it, since policies are not
// monotone in capacity. And that a job that repeats is left alone by the device.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "allocator/models/exact_policy.h"
#include "allocator/models/make_policy.h"
#include "allocator/replay/replay.h"
#include "allocator/replay/trace.h"

namespace headroom::allocator {
namespace {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

// A decoder's training, like bench/generated_traces.py: weights with an optimizer's state,
// activations from forward to backward or, with recompute, only each layer's input.
class Training {
 public:
  Training(std::uint64_t width, int layers, bool recompute)
      : width_(width), layers_(layers), recompute_(recompute) {
    for (int layer = 0; layer < layers; ++layer)
      for (const std::uint64_t part : {3U, 1U, 4U, 4U})
        for (int k = 0; k < 3; ++k) allocate(4 * width * width * part);
  }

  void step(std::uint64_t tokens) {
    struct Layer {
      std::uint64_t input;
      std::vector<std::uint64_t> made;
    };
    std::vector<Layer> kept;
    for (int i = 0; i < layers_; ++i) {
      Layer layer{allocate(4 * tokens * width_), activations(tokens)};
      if (recompute_) free_all(layer.made);
      kept.push_back(layer);
    }
    std::vector<std::uint64_t> gradients;
    for (; !kept.empty(); kept.pop_back()) {
      Layer& layer = kept.back();
      if (recompute_) layer.made = activations(tokens);
      for (const std::uint64_t part : {3U, 1U, 4U, 4U})
        gradients.push_back(allocate(4 * width_ * width_ * part));
      const std::uint64_t upstream = allocate(4 * tokens * width_);
      free_all(layer.made);
      free(upstream);
      free(layer.input);
    }
    free_all(gradients);
  }

  Trace trace() const { return *parse_trace(text_); }

 private:
  std::vector<std::uint64_t> activations(std::uint64_t tokens) {
    std::vector<std::uint64_t> made;
    const std::uint64_t unit = tokens * width_;
    for (const std::uint64_t size : {unit, 3 * unit, tokens * tokens / 8, unit, 4 * unit}) {
      made.push_back(allocate(4 * size));
      free(allocate(4 * tokens));
      free(allocate(size));
    }
    return made;
  }
  std::uint64_t allocate(std::uint64_t bytes) {
    text_ += "a " + std::to_string(++next_) + " " + std::to_string(bytes) + "\n";
    return next_;
  }
  void free(std::uint64_t block) { text_ += "f " + std::to_string(block) + "\n"; }
  void free_all(std::vector<std::uint64_t>& blocks) {
    for (; !blocks.empty(); blocks.pop_back()) free(blocks.back());
  }

  std::uint64_t width_;
  int layers_;
  bool recompute_;
  std::string text_;
  std::uint64_t next_ = 0;
};

Trace equal_steps(bool recompute) {
  Training training(1024, 12, recompute);
  for (int i = 0; i < 10; ++i) training.step(768);
  return training.trace();
}

Trace varying_steps(bool recompute) {
  Training training(1024, 12, recompute);
  Random random(1);
  for (int i = 0; i < 10; ++i) training.step(256 + random() % 1024);
  return training.trace();
}

double live_peak(const Trace& trace) {
  ExactPolicy exact(unlimited_capacity_bytes);
  return static_cast<double>(replay(trace, exact).usage.live_peak_bytes);
}

// Rounded up to whole pages: what a policy could not use anyway is no difference.
std::uint64_t capacity(double peak, double percent) {
  const double page = 2.0 * (1 << 20U);
  return static_cast<std::uint64_t>(std::ceil(peak * (1 + percent / 100) / page) * page);
}

// Finishes at every capacity from `percent` above the live peak to 10 %.
void expect_enough(const std::string& policy, const Trace& trace, double percent,
                   const std::string& name) {
  const double peak = live_peak(trace);
  for (double above = percent; above <= 10; above += 0.5) {
    const auto made = *make_policy(policy, capacity(peak, above));
    const ReplayResult result = replay(trace, *made);
    EXPECT_TRUE(result.completed) << policy << " on " << name << " at +" << above
                                  << " % fails at event " << result.failed_at.value_or(0);
  }
}

// The number of the last event that called the device.
std::size_t last_device_call(const std::string& policy, const Trace& trace, double percent) {
  const auto made = *make_policy(policy, capacity(live_peak(trace), percent));
  std::vector<Address> addresses(trace.objects);
  std::uint64_t calls = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.kind == EventKind::allocate) {
      const auto address = made->allocate({event.bytes, event.tag, event.stream});
      if (!address) return trace.events.size();
      addresses[event.object] = *address;
    } else if (event.kind == EventKind::free) {
      made->free(addresses[event.object]);
    }
    const std::uint64_t now = made->usage().device_calls;
    if (now != calls) last = i;
    calls = now;
  }
  return last;
}

// How many events a step has, of a trace that repeats one to its end.
std::size_t events_per_step(const Trace& trace) {
  const std::vector<Event>& events = trace.events;
  const auto alike = [&](std::size_t i, std::size_t k) {
    return events[i].kind == events[k].kind && events[i].bytes == events[k].bytes;
  };
  for (std::size_t step = 100; step < events.size() / 2; ++step) {
    std::size_t i = events.size() / 2;
    while (i < events.size() && alike(i, i - step)) ++i;
    if (i == events.size()) return step;
  }
  return 0;
}

// After the third of `steps` equal ones the device is not called any more; moving over to a plan
// belongs to the border, so that the first event after it still may.
void expect_left_alone(const std::string& policy, const Trace& trace, double percent,
                       std::size_t steps, const std::string& name) {
  const std::size_t step = events_per_step(trace);
  ASSERT_GT(step, 0U) << name;
  EXPECT_LE(last_device_call(policy, trace, percent), trace.events.size() - (steps - 3) * step)
      << policy << " on " << name << ", steps of " << step << " events";
}

TEST(Capacity, steps_that_repeat_need_two_percent_and_five_without_virtual_memory) {
  for (const bool recompute : {false, true}) {
    const Trace trace = equal_steps(recompute);
    expect_enough("headroom", trace, 2, "equal steps");
    expect_enough("headroom-no-vmm", trace, 5, "equal steps");
  }
}

TEST(Capacity, steps_that_vary_need_two_percent) {
  for (const bool recompute : {false, true})
    expect_enough("headroom", varying_steps(recompute), 2, "varying steps");
}

TEST(Capacity, after_the_third_equal_step_the_device_is_left_alone) {
  for (const bool recompute : {false, true}) {
    const Trace trace = equal_steps(recompute);
    expect_left_alone("headroom", trace, 2, 10, "equal steps");
    expect_left_alone("headroom-no-vmm", trace, 5, 10, "equal steps");
  }
}

const std::filesystem::path folder = std::filesystem::path(HEADROOM_SHARED_DIR) / "traces";

class RecordedCapacity : public testing::Test {
 protected:
  struct Recorded {
    std::string name;
    Trace trace;
  };

  void SetUp() override {
    if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
  }
  static std::vector<Recorded> traces(const std::string& ending) {
    std::vector<Recorded> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().stem();
      if (entry.path().extension() != ".trace" || !name.ends_with(ending)) continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      auto trace = parse_trace(text.str());
      EXPECT_TRUE(trace.has_value()) << name;
      if (trace) found.push_back({name, *std::move(trace)});
    }
    return found;
  }
};

TEST_F(RecordedCapacity, two_percent_is_enough_with_virtual_memory) {
  for (const Recorded& each : traces("")) expect_enough("headroom", each.trace, 2, each.name);
}

TEST_F(RecordedCapacity, five_percent_is_enough_without) {
  for (const Recorded& each : traces(""))
    expect_enough("headroom-no-vmm", each.trace, 5, each.name);
}

// They have twelve.
TEST_F(RecordedCapacity, steps_that_repeat_leave_the_device_alone) {
  for (const Recorded& each : traces("-steps")) {
    expect_left_alone("headroom", each.trace, 2, 12, each.name);
    expect_left_alone("headroom-no-vmm", each.trace, 5, 12, each.name);
  }
}

}  // namespace
}  // namespace headroom::allocator
