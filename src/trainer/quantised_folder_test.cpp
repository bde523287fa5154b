// SPDX-License-Identifier: Apache-2.0
// Folders with quantised weights: those that transformers wrote (tests/trainer/quantised, by
// tools/parity_quantised.py), and what is wrong in others.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/document.h"
#include "estimate/model_config.h"
#include "machine/user_files.h"
#include "trainer/load_weights.h"
#include "trainer/quantised/code_tables.h"
#include "trainer/quantised/quant_state.h"
#include "trainer/step.h"
#include "trainer/stored_quantised.h"
#include "trainer/testing/scratch_folder.h"
#include "trainer/testing/tiny_models.h"

namespace headroom::trainer {
namespace {

using estimate::Target;
using estimate::WeightFormat;
using ::testing::HasSubstr;
using testing::ScratchFolder;

constexpr WeightFormat formats[] = {WeightFormat::nf4, WeightFormat::nf4_dq, WeightFormat::int8};

std::string golden_folder(const std::string& name) {
  return std::string(HEADROOM_SOURCE_DIR) + "/tests/trainer/quantised/" + name;
}

Json read_json(const std::string& path) {
  const auto text = machine::read_file(path);
  return text ? *parse_json(*text) : Json();
}

ModelOptions options_of(std::optional<WeightFormat> format) {
  ModelOptions options;
  options.longest = 64;
  options.lora = LoraOptions{.rank = 3, .alpha = 5, .targets = {Target::o, Target::down}};
  options.quantised = format;
  return options;
}

class StoredByTransformers : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Model> make(WeightFormat format) const {
    const auto config =
        estimate::parse_model_config(read_json(golden_folder(GetParam()) + "/config.json"));
    EXPECT_TRUE(config) << config.error().message;
    return std::make_unique<Model>(*config, options_of(format));
  }
  WeightFormat format() const {
    return GetParam() == "nf4" ? WeightFormat::nf4 : WeightFormat::nf4_dq;
  }
};

TEST_P(StoredByTransformers, logits_are_those_of_bitsandbytes) {
  const auto model = make(format());
  const Status loaded = load_weights(golden_folder(GetParam()), *model);
  ASSERT_TRUE(loaded) << loaded.error().message;
  model->initialise_adapters(1);
  const Json golden = read_json(golden_folder(GetParam()) + "/golden.json");
  const auto sample = golden["samples"][0].get<testing::Sample>();
  const at::Tensor logits = compute_logits(*model, testing::pad({sample}));
  for (std::int64_t i = 0; i < logits.size(0); ++i) {
    const auto row = golden["logits"][static_cast<std::size_t>(i)].get<std::vector<double>>();
    const at::Tensor off = logits[i].to(at::kDouble) - at::tensor(row, at::kDouble);
    EXPECT_LE(off.abs().max().item<double>(), 1e-5) << "token " << i;
  }
}

TEST_P(StoredByTransformers, another_format_than_the_jobs_is_told_with_the_one_that_is_there) {
  for (const WeightFormat other : formats) {
    if (other == format()) continue;
    const auto model = make(other);
    const Status loaded = load_weights(golden_folder(GetParam()), *model);
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, HasSubstr(fmt::format("expected {}", to_string(other))));
    EXPECT_THAT(loaded.error().next, HasSubstr(fmt::format("base = \"{}\"", GetParam())));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, StoredByTransformers, ::testing::Values("nf4", "nf4-dq"),
                         [](const auto& format) {
                           return format.param == "nf4" ? "nf4" : "nf4_dq";
                         });

// A folder as this program writes it, with one tensor changed, left out or put beside.
class Damaged : public ::testing::Test {
 protected:
  static constexpr const char* weight = "model.layers.1.mlp.up_proj.weight";

  Damaged() { source_.initialise_base(1); }

  std::vector<NamedTensor> tensors() {
    std::vector<NamedTensor> all;
    for (const auto& [name, value, is_copy, quantised] : source_.stored()) {
      if (quantised) {
        add_parts(name, *quantised, all);
      } else {
        all.push_back({name, value});
      }
    }
    return all;
  }

  std::string refusal(const std::string& part, const at::Tensor& other) {
    std::vector<NamedTensor> all = tensors();
    const auto found = std::find_if(all.begin(), all.end(), [&](const NamedTensor& tensor) {
      return tensor.name == weight + part;
    });
    if (found == all.end()) {
      all.push_back({weight + part, other});
    } else if (other.defined()) {
      found->tensor = other;
    } else {
      all.erase(found);
    }
    EXPECT_TRUE(write_safetensors(folder_.file("model.safetensors"), all, {}));
    Model target(source_.config(), source_.options());
    const Status loaded = load_weights(folder_.path(), target);
    if (loaded) return "";
    EXPECT_FALSE(loaded.error().next.empty());
    return loaded.error().message;
  }

  static at::Tensor bytes_of(const std::string& text) {
    const at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
    std::copy(text.begin(), text.end(), bytes.data_ptr<std::uint8_t>());
    return bytes;
  }

  ScratchFolder folder_;
  Model source_{testing::tiny_config(), options_of(WeightFormat::nf4_dq)};
};

TEST_F(Damaged, what_is_missing_or_cut_is_named) {
  EXPECT_EQ(refusal(".quant_map", at::tensor(at::ArrayRef<float>(quantised::nf4_values))), "");
  EXPECT_THAT(refusal(".absmax", at::zeros({3}, at::kByte)),
              HasSubstr("up_proj.weight.absmax (expected U8 [4], found U8 [3])"));
  EXPECT_THAT(refusal("", at::zeros({100, 1}, at::kByte)),
              HasSubstr("up_proj.weight (expected U8 [120, 1], found U8 [100, 1])"));
  for (const char* part :
       {".nested_absmax", ".nested_quant_map", ".quant_map", ".quant_state.bitsandbytes__nf4"})
    EXPECT_THAT(refusal(part, {}), HasSubstr(fmt::format("missing: {}{}", weight, part)));
  EXPECT_THAT(refusal(".absmax", {}), HasSubstr("expected nf4-dq, found quantised weights (nf4)"));
  EXPECT_THAT(refusal(".absmax", at::zeros({4})), HasSubstr("found quantised weights (nf4)"));
}

TEST_F(Damaged, another_type_block_or_table_is_told_with_what_was_found) {
  const std::string state = ".quant_state.bitsandbytes__nf4";
  const auto with = [&](const char* key, const Json& value) {
    Json json = *parse_json(to_text(quantised::QuantState{"float32", 20, 12, 0.5F}));
    json[key] = value;
    return refusal(state, bytes_of(json.dump()));
  };
  EXPECT_THAT(with("blocksize", 128), HasSubstr("blocksize: expected 64, found 128"));
  EXPECT_THAT(with("quant_type", "fp4"), HasSubstr("expected \"nf4\", found \"fp4\""));
  EXPECT_THAT(with("shape", {12, 20}), HasSubstr("expected shape [20, 12] with nested_offset"));
  EXPECT_THAT(refusal(".quant_state.bitsandbytes__fp4", bytes_of("{}")),
              HasSubstr("expected quant_type nf4, found fp4"));
  EXPECT_THAT(refusal(".quant_map", at::linspace(-1, 1, 16)), HasSubstr("for code 1"));
}

TEST_F(Damaged, plain_numbers_among_quantised_ones_are_refused) {
  std::vector<NamedTensor> all = tensors();
  std::erase_if(all, [](const NamedTensor& tensor) { return tensor.name.starts_with(weight); });
  all.push_back({weight, at::zeros({20, 12})});
  ASSERT_TRUE(write_safetensors(folder_.file("model.safetensors"), all, {}));
  Model target(source_.config(), source_.options());
  const Status loaded = load_weights(folder_.path(), target);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("found plain numbers"));
  EXPECT_THAT(loaded.error().next, HasSubstr("llm_int8_skip_modules"));
}

TEST_F(Damaged, a_job_without_quantisation_is_told_what_to_write) {
  ASSERT_TRUE(write_safetensors(folder_.file("model.safetensors"), tensors(), {}));
  ModelOptions plain = options_of(std::nullopt);
  for (const bool lora : {true, false}) {
    if (!lora) plain.lora.reset();
    Model target(source_.config(), plain);
    const Status loaded = load_weights(folder_.path(), target);
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, HasSubstr("expected plain numbers, found quantised"));
    EXPECT_THAT(loaded.error().next, HasSubstr("kind = \"qlora\""));
  }
}

}  // namespace
}  // namespace headroom::trainer
