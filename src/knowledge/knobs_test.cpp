// SPDX-License-Identifier: Apache-2.0
#include "knowledge/knobs.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"

namespace headroom::knowledge {
namespace {

const KnobTable& knobs() {
  static const KnobTable loaded = *load_knobs();
  return loaded;
}

TEST(KnobTable, every_row_says_what_how_sure_and_from_where) {
  ASSERT_TRUE(load_knobs().has_value()) << load_knobs().error().message;
  for (const Knob& knob : knobs().rows()) {
    EXPECT_TRUE(knob.certainty >= 'A' && knob.certainty <= 'D') << knob.name;
    EXPECT_FALSE(knob.source.empty()) << knob.name;
    EXPECT_TRUE(knob.does.ends_with('.')) << knob.name;
    for (const std::string& text : {knob.cost, knob.instead}) {
      EXPECT_TRUE(text.empty() || text.ends_with('.')) << knob.name;
    }
  }
}

TEST(KnobTable, every_name_that_a_row_points_to_is_known) {
  for (const Knob& knob : knobs().rows()) {
    for (const auto& [other, why] : knob.conflicts) {
      EXPECT_NE(knobs().find(other), nullptr) << knob.name << ": " << other;
      EXPECT_FALSE(why.empty()) << knob.name;
      EXPECT_NE(other, knob.name);
    }
    for (const std::string& other : knob.needs) EXPECT_NE(knobs().find(other), nullptr) << other;
    if (knob.alias.empty()) continue;
    const Knob* meaning = knobs().find(knob.alias);
    ASSERT_NE(meaning, nullptr) << knob.name;
    EXPECT_TRUE(meaning->alias.empty()) << knob.name << " is a spelling of a spelling";
    EXPECT_EQ(meaning->value, knob.value) << knob.name;
    EXPECT_EQ(meaning->default_value, knob.default_value) << knob.name;
    EXPECT_EQ(meaning->range, knob.range) << knob.name;
  }
}

TEST(KnobTable, defaults_lie_in_ranges_and_among_words) {
  for (const Knob& knob : knobs().rows()) {
    const bool number = knob.value == KnobValue::number || knob.value == KnobValue::fraction;
    EXPECT_TRUE(number || !knob.range) << knob.name;
    EXPECT_EQ(knob.value == KnobValue::words, !knob.words.empty()) << knob.name;
    if (!knob.default_value) continue;
    if (number && knob.range) {
      const auto value = parse_double(*knob.default_value);
      ASSERT_TRUE(value.has_value()) << knob.name;
      EXPECT_TRUE(*value >= knob.range->first && *value <= knob.range->second) << knob.name;
    }
    if (knob.value == KnobValue::words) {
      EXPECT_TRUE(std::count(knob.words.begin(), knob.words.end(), *knob.default_value) == 1)
          << knob.name;
    }
    if (knob.value == KnobValue::toggle && !knob.default_value->empty()) {
      EXPECT_TRUE(parse_toggle(*knob.default_value).has_value()) << knob.name;
    }
  }
}

TEST(KnobTable, units_words_and_versions_are_of_the_known_kinds) {
  const std::set<std::string> units = {"", "B", "KiB", "page", "MiB", "GiB", "%", "ms", "s", "us"};
  for (const Knob& knob : knobs().rows()) {
    EXPECT_TRUE(units.contains(knob.unit)) << knob.name;
    EXPECT_TRUE(knob.scale.empty() || knob.scale == "ram" || knob.scale == "vram") << knob.name;
    EXPECT_TRUE(knob.scale.empty() || unit_size(knob.unit)) << knob.name;
    for (const auto* versions : {&knob.since, &knob.until, &knob.deprecated_since}) {
      for (const auto& [component, version] : *versions) {
        EXPECT_TRUE(compare_versions(version, "1").has_value()) << knob.name;
        EXPECT_TRUE(component == "torch" || component == "rocm" || component == "kernel")
            << knob.name;
      }
    }
    for (const std::string& word : knob.matters) {
      EXPECT_TRUE(word.starts_with("gfx") || word == "integrated" || word == "discrete" ||
                  word == "several-gpus")
          << knob.name;
    }
  }
}

TEST(KnobTable, a_parameter_is_described_or_listed_and_not_both) {
  for (const Knob& knob : knobs().rows()) {
    const std::size_t dot = knob.name.find('.');
    if (dot == std::string::npos) continue;
    EXPECT_TRUE(knobs().has_module(knob.name.substr(0, dot))) << knob.name;
    EXPECT_FALSE(knobs().exists(knob.name.substr(0, dot), knob.name.substr(dot + 1))) << knob.name;
  }
}

TEST(KnobTable, numbered_names_are_one_row) {
  ASSERT_NE(knobs().find("HSA_OVERRIDE_GFX_VERSION_12"), nullptr);
  EXPECT_EQ(knobs().find("HSA_OVERRIDE_GFX_VERSION_12")->alias, "HSA_OVERRIDE_GFX_VERSION");
  EXPECT_EQ(knobs().find("HSA_OVERRIDE_GFX_VERSION_x"), nullptr);
  EXPECT_EQ(knobs().find("12"), nullptr);
}

TEST(KnobTable, only_clear_typing_errors_are_taken_for_a_knob) {
  EXPECT_EQ(knobs().meant("HSA_OVERIDE_GFX_VERSION"), "HSA_OVERRIDE_GFX_VERSION");
  EXPECT_EQ(knobs().meant("HSA_OVERRIDE_GFX_VERISON"), "HSA_OVERRIDE_GFX_VERSION");
  EXPECT_EQ(knobs().meant("HIP_VISIBLE_DEVICE"), "HIP_VISIBLE_DEVICES");
  EXPECT_EQ(knobs().meant("amdgpu.gtt_size"), "amdgpu.gttsize");
  EXPECT_EQ(knobs().meant("ttm.page_limit"), "ttm.pages_limit");
  for (const char* name : {"PATH", "HOME", "PYTORCH_XPU_ALLOC_CONF", "NCCL_IB_TC", "HSA_", "TERM",
                           "CUDA_HOME", "GPU_MODEL"}) {
    EXPECT_EQ(knobs().meant(name), std::nullopt) << name;
  }
}

TEST(KnobTable, versions_compare_by_their_numbers) {
  EXPECT_EQ(compare_versions("2.10.0a0+rocm7.1", "2.9"), 1);
  EXPECT_EQ(compare_versions("6.3.2-66", "7.0"), -1);
  EXPECT_EQ(compare_versions("7.0", "7.0.0"), 0);
  EXPECT_EQ(compare_versions("unknown", "7.0"), std::nullopt);
}

TEST(KnobTable, a_mistake_in_a_row_names_its_line) {
  const std::string good =
      "[[knob]]\nname = \"A\"\ncomponent = \"x\"\nvalue = \"text\"\ndoes = \"D.\"\ncertainty = "
      "\"A\"\n"
      "source = \"s\"\n";
  EXPECT_TRUE(parse_knobs(good).has_value());
  EXPECT_FALSE(parse_knobs(good + good).has_value());
  EXPECT_FALSE(parse_knobs(good + "range = [2, 1]\n").has_value());
  const auto wrong = parse_knobs(good + "colour = \"red\"\n");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("line 8"), std::string::npos) << wrong.error().message;
}

}  // namespace
}  // namespace headroom::knowledge
