// SPDX-License-Identifier: Apache-2.0
// The recorded traces of real and synthetic jobs: headroom finishes all of them within 2 % of their
// live peak, and the models of PyTorch's allocators hold and need what the real ones did.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "allocator/models/exact_policy.h"
#include "allocator/models/make_policy.h"
#include "allocator/replay/replay.h"
#include "allocator/replay/trace.h"

namespace headroom::allocator {
namespace {

const std::filesystem::path folder = std::filesystem::path(HEADROOM_SHARED_DIR) / "traces";

// Percent above the live peak, measured with PyTorch 2.6.0 itself: what it holds where memory is
// plentiful, and the capacity that it needs.
struct Measured {
  double torch_holds;
  double torch_needs;
  double expandable_holds;
};

const std::map<std::string, Measured> measured = {
    {"resnet50-somas", {11.4, 5.5, 2.1}},
    {"pangu-2.6b-somas", {46.6, 6, 19.5}},
    {"gpt-medium-fixed-recompute-flash", {18.4, 18, 11.4}},
    {"gpt-medium-buckets", {9.0, 8, 1.4}},
    {"gpt-medium-variable-recompute", {42.8, 11, 19.3}},
    {"gpt-24x1024-variable", {12.6, 7, 0.6}},
};

class RecordedTraces : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
  }

  static Trace read(const std::string& name) {
    std::ifstream file(folder / (name + ".trace"));
    std::stringstream text;
    text << file.rdbuf();
    auto trace = parse_trace(text.str());
    EXPECT_TRUE(trace.has_value()) << name;
    return trace ? std::move(*trace) : Trace{};
  }
  static std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".trace") found.push_back(entry.path().stem());
    }
    return found;
  }
  static double live_peak(const Trace& trace) {
    ExactPolicy exact(unlimited_capacity_bytes);
    return static_cast<double>(replay(trace, exact).usage.live_peak_bytes);
  }
  static ReplayResult at(const std::string& policy, const Trace& trace, double bytes) {
    const auto made = *make_policy(policy, static_cast<std::uint64_t>(bytes));
    return replay(trace, *made);
  }
};

TEST_F(RecordedTraces, headroom_finishes_within_two_percent_of_the_live_peak) {
  for (const std::string& name : names()) {
    const Trace trace = read(name);
    const double peak = live_peak(trace);
    for (const double factor : {1.02, 1.025, 1.03, 1.05, 1.1}) {
      const ReplayResult result = at("headroom", trace, peak * factor);
      EXPECT_TRUE(result.completed) << name << " at " << factor;
    }
  }
}

TEST_F(RecordedTraces, the_torch_models_hold_what_pytorch_held) {
  const auto plentiful = static_cast<double>(unlimited_capacity_bytes);
  for (const auto& [name, expected] : measured) {
    const Trace trace = read(name);
    const double peak = live_peak(trace);
    const auto holds = [&](const std::string& policy) {
      const ReplayResult result = at(policy, trace, plentiful);
      return 100 * (static_cast<double>(result.usage.reserved_peak_bytes) / peak - 1);
    };
    EXPECT_NEAR(holds("torch"), expected.torch_holds, 0.1) << name;
    EXPECT_NEAR(holds("torch-expandable"), expected.expandable_holds, 0.1) << name;
  }
}

// The measurement stepped its capacities by up to one per cent.
TEST_F(RecordedTraces, the_torch_model_needs_what_pytorch_needed) {
  for (const auto& [name, expected] : measured) {
    const Trace trace = read(name);
    const double peak = live_peak(trace);
    const double enough = peak * (1 + expected.torch_needs / 100);
    EXPECT_TRUE(at("torch", trace, enough + peak / 500).completed) << name;
    EXPECT_FALSE(at("torch", trace, enough - peak * 0.015).completed) << name;
  }
}

// The job that this project began with.
TEST_F(RecordedTraces, torch_dies_on_a_20464_mib_card_where_headroom_finishes) {
  const Trace trace = read("gpt-24x1024-variable");
  const double card = 20464.0 * 1024 * 1024;
  const ReplayResult torch = at("torch", trace, card);
  EXPECT_EQ(torch.failed_at, 9138U);
  EXPECT_NEAR(static_cast<double>(torch.usage.live_bytes) / (1 << 30U), 18.30, 0.01);
  EXPECT_TRUE(at("headroom", trace, card).completed);
}

}  // namespace
}  // namespace headroom::allocator
