// SPDX-License-Identifier: Apache-2.0
// The tables of data/ against each other: what one names exists in another, and what one says the
// others do not deny.
#include <gtest/gtest.h>

#include <set>

#include "base/document.h"
#include "base/text.h"
#include "knowledge/cards.h"
#include "knowledge/embedded.h"
#include "knowledge/gpu_tables.h"

namespace headroom::knowledge {
namespace {

const GpuTables& tables() {
  static const GpuTables loaded = *load_gpu_tables();
  return loaded;
}

std::string target_named_by(const std::string& value) {
  return target_of_override(value).value_or("");
}

std::vector<std::uint64_t> release(const std::string& text) {
  std::vector<std::uint64_t> numbers;
  for (const std::string_view part : split(text, '.')) {
    numbers.push_back(parse_u64(part).value_or(999));  // No number: out of every order.
  }
  return numbers;
}

void expect_origin(const Origin& origin, const std::string& row) {
  EXPECT_FALSE(origin.source.empty()) << row;
  // A letter alone must be one that gpus.toml explains.
  for (const std::string_view part : split(origin.source, ',')) {
    const std::string letter(trim(part.substr(0, part.find(';'))));
    if (letter.size() == 1) {
      EXPECT_TRUE(tables().sources.contains(letter)) << row << ": " << letter;
    }
  }
}

TEST(Tables, every_row_has_a_certainty_and_a_source) {
  for (const auto& [gfx, target] : tables().targets) {
    expect_origin(target.origin, gfx);
    for (const auto& [value, judged] : target.overrides) {
      expect_origin(judged.origin, gfx + " " + value);
    }
  }
  for (const auto& [id, device] : tables().devices) expect_origin(device.origin, device.name);
  for (const auto& [gfx, stack] : tables().stacks) expect_origin(stack.origin, gfx);
  for (const auto& fix : tables().advisories.fixes) expect_origin(fix.origin, fix.id);
  for (const auto& row : tables().advisories.rows) expect_origin(row.origin, row.id);
}

TEST(Tables, official_ranges_are_in_order) {
  for (const auto& [gfx, target] : tables().targets) {
    if (!target.rocm_first) continue;
    const std::string last = target.rocm_last.value_or(tables().current_rocm);
    EXPECT_LE(release(*target.rocm_first), release(last)) << gfx;
    EXPECT_LE(release(last), release(tables().current_rocm)) << gfx;
  }
}

TEST(Tables, overrides_name_targets_that_exist) {
  for (const auto& [gfx, target] : tables().targets) {
    for (const auto& [value, judged] : target.overrides) {
      if (value == "*") continue;
      EXPECT_NE(tables().target(target_named_by(value)), nullptr) << gfx << " " << value;
      EXPECT_NE(target_named_by(value), gfx) << "its own target is no override";
    }
  }
}

// LLVM lets a kernel for a target with the large register file use registers that others lack.
TEST(Tables, code_for_a_larger_register_file_is_dangerous_on_a_smaller_one) {
  int seen = 0;
  for (const auto& [gfx, target] : tables().targets) {
    for (const auto& [other, source] : tables().targets) {
      const bool same_major = other.size() == gfx.size() && other.substr(0, 5) == gfx.substr(0, 5);
      if (!same_major || !source.large_register_file || target.large_register_file) continue;
      const std::string value = other[5] + std::string(".") + other[6];
      const std::string whole = other.substr(3, 2) + "." + value;
      EXPECT_EQ(judge_override(target, whole)->risk, Risk::dangerous) << gfx << " with " << whole;
      ++seen;
    }
  }
  EXPECT_GE(seen, 15);
}

TEST(Tables, only_a_target_of_the_same_major_version_is_ever_less_than_dangerous) {
  for (const auto& [gfx, target] : tables().targets) {
    for (const auto& [value, judged] : target.overrides) {
      const bool same =
          target_named_by(value).substr(0, gfx.size() - 2) == gfx.substr(0, gfx.size() - 2);
      if (judged.risk != Risk::dangerous) {
        EXPECT_TRUE(same) << gfx << " " << value;
      }
    }
  }
}

TEST(Tables, devices_say_integrated_exactly_where_their_target_is_both) {
  for (const auto& [id, device] : tables().devices) {
    const Target* target = tables().target(device.gfx);
    ASSERT_NE(target, nullptr) << device.name;
    EXPECT_EQ(device.integrated.has_value(), target->kind == Kind::both) << device.name;
  }
  for (const auto& [gfx, target] : tables().targets) {
    if (target.reset_integrated) {
      EXPECT_EQ(target.kind, Kind::both) << gfx;
    }
  }
}

TEST(Tables, stacks_are_there_exactly_for_dropped_targets) {
  for (const auto& [gfx, target] : tables().targets) {
    EXPECT_EQ(tables().stack(gfx) != nullptr, support_of(target) == Support::dropped) << gfx;
  }
  for (const auto& [gfx, stack] : tables().stacks) {
    EXPECT_TRUE(gfx == "wsl" || tables().target(gfx) != nullptr) << gfx;
  }
}

TEST(Tables, wheels_follow_from_builds) {
  for (const auto& [gfx, target] : tables().targets) {
    if (target.torch == TorchWheels::current) {
      EXPECT_NE(target.therock, TheRock::none) << gfx;
    }
    if (!target.without.empty()) {
      EXPECT_NE(target.therock, TheRock::none) << gfx;
    }
    if (target.mec_without_atomics) {
      EXPECT_TRUE(target.pcie_atomics) << gfx;
    }
    if (target.pcie_atomics) {
      EXPECT_EQ(target.kind, Kind::discrete) << gfx;
    }
  }
}

TEST(Tables, cards_are_unique_and_have_a_target_and_an_origin) {
  const auto cards = parse_toml(embedded("cards"));
  ASSERT_TRUE(cards.has_value()) << cards.error().message;
  std::set<std::string> names;
  for (const auto& group : cards->value["group"]) {
    EXPECT_FALSE(group.value("source", "").empty());
    EXPECT_EQ(group.value("certainty", "").size(), 1U);
    for (const auto& [name, facts] : group["cards"].items()) {
      EXPECT_TRUE(names.insert(to_lower(name)).second) << name << " is there twice";
      EXPECT_TRUE(find_card(name).has_value()) << name;
      EXPECT_GT(facts["tflops16"], 0) << name;
      EXPECT_GE(facts["tflops16"], facts["tflops32"]) << name;
      EXPECT_GT(facts["gb_s"], 100) << name;
      const std::set<std::string> classes = {"consumer", "workstation", "server"};
      EXPECT_TRUE(classes.contains(facts.value("class", ""))) << name;
      if (group["vendor"] != "amd") continue;
      EXPECT_NE(tables().target(facts["gfx"].get<std::string>()), nullptr) << name;
      EXPECT_NE(tables().target(facts["gfx"].get<std::string>())->kind, Kind::integrated) << name;
    }
  }
  EXPECT_GT(names.size(), 20U);
}

TEST(Tables, advisories_name_targets_and_ranges_that_exist) {
  for (const auto& row : tables().advisories.rows) {
    for (const std::string& gfx : row.gfx) EXPECT_NE(tables().target(gfx), nullptr) << row.id;
    EXPECT_TRUE(!row.gfx.empty() || row.integrated) << row.id << " concerns every GPU";
    EXPECT_FALSE(row.to_do.empty()) << row.id;
    for (const VersionRange& range : row.rocm) {
      EXPECT_LT(release(range.since), release(range.before)) << row.id;
    }
    if (row.kernel) {
      EXPECT_LT(release(row.kernel->since), release(row.kernel->before)) << row.id;
    }
    EXPECT_TRUE(row.kernel || row.firmware || !row.rocm.empty() || !row.without_fix.empty())
        << row.id << " has no condition";
  }
}

}  // namespace
}  // namespace headroom::knowledge
