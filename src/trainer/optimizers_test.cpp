// SPDX-License-Identifier: Apache-2.0
// SGD and Adafactor beside torch.optim.SGD and transformers' Adafactor: 20 steps on made-up numbers
// (tests/trainer/optimizers.json, written by tools/parity.py). The keys are read as a job's, so
// that its defaults are compared too.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <tuple>

#include "base/bytes.h"
#include "base/document.h"
#include "machine/user_files.h"
#include "trainer/checkpoint.h"
#include "trainer/ops/by_libtorch.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/optimizer_settings.h"
#include "trainer/testing/plain_memory.h"
#include "trainer/testing/scratch_folder.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

Json golden() {
  const auto text =
      machine::read_file(std::string(HEADROOM_SOURCE_DIR) + "/tests/trainer/optimizers.json");
  return text ? *parse_json(*text) : Json();
}

OptimizerSettings settings_of(const Json& keys) {
  const Json job = {{"model", {{"config", "m"}}},
                    {"engine", {{"kind", "headroom"}}},
                    {"compute", {{"dtype", "fp32"}}},
                    {"optimizer", keys}};
  const auto document = parse_document(job.dump());
  EXPECT_TRUE(document);
  const auto parsed = estimate::parse_job(*document);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return make_optimizer_settings(parsed->optimizer);
}

// As tools/parity.py makes them: exact in fp32.
at::Tensor made_up(const std::vector<std::int64_t>& shape, std::uint32_t seed) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    seed = 1664525U * seed + 1013904223U;
    tensor.data_ptr<float>()[i] = static_cast<float>(seed >> 8U) / 8388608.0F - 1;
  }
  return tensor;
}

double farthest(const std::deque<Parameter>& parameters, const Json& expected) {
  double most = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto numbers = expected[i].get<std::vector<double>>();
    const at::Tensor found = parameters[i].value.view({-1}).to(at::kDouble);
    EXPECT_EQ(found.numel(), static_cast<std::int64_t>(numbers.size()));
    const at::Tensor off = found - at::tensor(numbers, at::kDouble);
    most = std::max(most, off.abs().max().item<double>());
  }
  return most;
}

void expect_golden_steps() {
  const Json file = golden();
  ASSERT_EQ(file["optimizers"].size(), 9U);
  for (const auto& [name, wanted] : file["optimizers"].items()) {
    std::deque<Parameter> parameters;
    for (std::uint32_t i = 0; i < file["shapes"].size(); ++i)
      parameters.push_back(
          {"p", made_up(file["shapes"][i].get<std::vector<std::int64_t>>(), i), {}, true});
    const auto optimizer = make_optimizer(parameters, settings_of(wanted["keys"]));
    for (std::uint32_t step = 1; step <= 20; ++step) {
      for (std::uint32_t i = 0; i < parameters.size(); ++i)
        parameters[i].grad = made_up(parameters[i].value.sizes().vec(), 1000 * step + i);
      optimizer->step();
      if (step == 1) {
        EXPECT_LE(farthest(parameters, wanted["first"]), 1e-6) << name;
      }
    }
    EXPECT_LE(farthest(parameters, wanted["last"]), 1e-6) << name;
  }
}

TEST(Optimizers, twenty_steps_are_those_of_torch_and_transformers) {
  expect_golden_steps();
}

// What a GPU computes with, here on the processor.
TEST(Optimizers, libtorchs_operations_alone_take_the_same_steps) {
  const ops::WithoutKernels by_libtorch;
  expect_golden_steps();
}

// Clipping multiplies every gradient: as if the gradients had been shorter.
TEST(Optimizers, a_factor_of_the_gradients_is_as_shorter_gradients) {
  for (const char* kind : {"sgd", "adafactor"}) {
    const auto run = [&](double factor, double length) {
      std::deque<Parameter> parameters;
      parameters.push_back({"p", made_up({3, 40}, 1), {}, true});
      const auto optimizer =
          make_optimizer(parameters, settings_of({{"kind", kind}, {"learning_rate", 0.1}}));
      for (std::uint32_t step = 0; step < 3; ++step) {
        const bool second = step == 1;
        parameters[0].grad = made_up({3, 40}, 7 + step) * (second ? length : 1.0);
        optimizer->step({.rate = 0.5, .gradient = second ? factor : 1.0});
      }
      return parameters[0].value;
    };
    const at::Tensor shorter = run(1, 0.25);
    EXPECT_LE((run(0.25, 1) - shorter).abs().max().item<double>(), 1e-6) << kind;
    EXPECT_GE((run(1, 1) - shorter).abs().max().item<double>(), 1e-3) << kind;
  }
}

// More rows than a block has room for, and a row that is wider than a block.
void expect_near_in_half_types() {
  const std::vector<std::int64_t> shapes[] = {{700, 1000}, {2, ops::block_elements + 3}};
  for (const char* kind : {"sgd", "adafactor"}) {
    for (const auto& shape : shapes) {
      const Json keys = kind == std::string("sgd")
                            ? Json{{"kind", kind}, {"learning_rate", 0.25}, {"momentum", 0.5}}
                            : Json{{"kind", kind}, {"learning_rate", 0.25}};
      std::deque<Parameter> wide, half;
      wide.push_back({"p", made_up(shape, 3).to(at::kBFloat16).to(at::kFloat), {}, true});
      half.push_back({"p", wide[0].value.to(at::kBFloat16), {}, true});
      const auto one = make_optimizer(wide, settings_of(keys));
      const auto other = make_optimizer(half, settings_of(keys));
      for (std::uint32_t step = 0; step < 2; ++step) {
        half[0].grad = made_up(shape, 9 + step).to(at::kBFloat16);
        wide[0].grad = half[0].grad.to(at::kFloat);
        one->step();
        other->step();
      }
      const at::Tensor off = half[0].value.to(at::kFloat) - wide[0].value;
      EXPECT_LE(off.abs().max().item<double>(), 0.03) << kind;
      EXPECT_GT(off.abs().max().item<double>(), 0) << kind;
    }
  }
}

TEST(Optimizers, half_types_are_as_near_as_their_rounding) {
  expect_near_in_half_types();
  const ops::WithoutKernels by_libtorch;
  expect_near_in_half_types();
}

// What sgd.h and adafactor.h say of temporaries, to the byte.
TEST(Optimizers, a_step_needs_what_is_written_down_and_no_more) {
  constexpr std::int64_t rows = 700;
  constexpr std::int64_t columns = 1000;
  constexpr std::uint64_t block = 4 * static_cast<std::uint64_t>(ops::block_elements);
  const auto sums = round_up(8 * (rows + columns), 512) + round_up(4 * columns, 512);
  const auto whole_rows = round_up(4 * (ops::block_elements / columns) * columns, 512);
  const Json sgd = {{"kind", "sgd"}};
  const Json momentum = {{"kind", "sgd"}, {"momentum", 0.9}};
  const Json adafactor = {{"kind", "adafactor"}};
  for (const auto& [keys, dtype, needed] : {std::tuple{sgd, at::kFloat, std::uint64_t{0}},
                                            {momentum, at::kFloat, 0},
                                            {adafactor, at::kFloat, sums},
                                            {sgd, at::kBFloat16, 2 * block},
                                            {momentum, at::kBFloat16, 3 * block},
                                            {adafactor, at::kBFloat16, 2 * whole_rows + sums}}) {
    testing::PlainMemory policy;
    const TorchMemory memory(policy);
    std::deque<Parameter> parameters;
    parameters.push_back({"p", at::zeros({rows, columns}, dtype), {}, true});
    const auto optimizer = make_optimizer(parameters, settings_of(keys));
    optimizer->allocate_states();
    parameters[0].grad = at::ones({rows, columns}, dtype);
    const std::uint64_t before = memory.usage().live_bytes;
    ASSERT_EQ(memory.usage().live_peak_bytes, before);
    optimizer->step();
    EXPECT_EQ(memory.usage().live_peak_bytes, before + needed) << keys.dump() << " " << dtype;
  }
}

// The masters are what fp32 parameters would be, and a bf16 parameter what they round to: steps
// that are too small for bf16 add up.
TEST(Optimizers, masters_take_the_steps_of_fp32) {
  const std::vector<std::int64_t> shape = {5, ops::block_elements / 3 + 7};
  for (const Json& keys : {Json{{"kind", "adamw"}, {"learning_rate", 1e-4}},
                           Json{{"kind", "adamw8bit"}, {"learning_rate", 1e-4}},
                           Json{{"kind", "sgd"}, {"learning_rate", 1e-4}, {"momentum", 0.5}},
                           Json{{"kind", "adafactor"}, {"learning_rate", 1e-4}}}) {
    std::deque<Parameter> wide, half;
    half.push_back({"p", made_up(shape, 3).to(at::kBFloat16), {}, true});
    wide.push_back({"p", half[0].value.to(at::kFloat), {}, true});
    const at::Tensor start = half[0].value.clone();
    const auto one = make_optimizer(wide, settings_of(keys));
    const auto other = make_optimizer(half, settings_of(keys), {.masters = true});
    for (std::uint32_t step = 0; step < 5; ++step) {
      half[0].grad = made_up(shape, 9).to(at::kBFloat16);
      wide[0].grad = half[0].grad.to(at::kFloat);
      one->step();
      other->step();
    }
    const Optimizer::State& master = other->states_of(0).front();
    EXPECT_EQ(master.name, "master");
    EXPECT_TRUE(at::equal(master.value, wide[0].value)) << keys.dump();
    EXPECT_TRUE(at::equal(half[0].value, wide[0].value.to(at::kBFloat16))) << keys.dump();
    EXPECT_FALSE(at::equal(half[0].value, start)) << keys.dump();
  }
}

TEST(Optimizers, states_are_counted_before_they_are_there) {
  estimate::ModelConfig config;
  config.hidden = 24;
  config.intermediate = 40;
  config.layers = 3;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 6;
  config.vocabulary = 277;  // Enough for bytes.
  for (const bool plain : {true, false}) {
    config.tied = config.qkv_bias = config.mlp_bias = config.qk_norm = !plain;
    for (const bool lora : {false, true}) {
      ModelOptions options;
      if (!plain) options.dtype = at::kBFloat16;
      if (lora)
        options.lora =
            LoraOptions{.rank = 3, .targets = {estimate::Target::q, estimate::Target::down}};
      Model model(config, options);
      for (const Json& keys :
           {Json{{"kind", "adamw"}}, Json{{"kind", "adamw8bit"}}, Json{{"kind", "sgd"}},
            Json{{"kind", "sgd"}, {"momentum", true}}, Json{{"kind", "adafactor"}}}) {
        for (const bool masters : {false, true}) {
          const OptimizerSettings settings = settings_of(keys);
          const auto optimizer = make_optimizer(model.trainable(), settings, {.masters = masters});
          optimizer->allocate_states();
          std::uint64_t bytes = 0;
          for (std::size_t i = 0; i < model.trainable().size(); ++i)
            for (const auto& state : optimizer->states_of(i)) bytes += state.value.nbytes();
          EXPECT_EQ(state_bytes(settings, masters, config, options), bytes) << keys.dump();
        }
      }
    }
  }
}

TEST(Optimizers, states_go_through_a_checkpoint_to_the_bit) {
  estimate::ModelConfig config;
  config.hidden = 24;
  config.intermediate = 40;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 6;
  config.vocabulary = 277;  // Enough for bytes.
  const auto step = [](Model& model, Optimizer& optimizer, std::uint32_t seed) {
    for (Parameter& parameter : model.trainable())
      parameter.grad = made_up(parameter.value.sizes().vec(), ++seed).to(parameter.value.dtype());
    optimizer.step();
  };
  for (const Json& keys :
       {Json{{"kind", "adamw"}}, Json{{"kind", "adamw8bit"}}, Json{{"kind", "sgd"}},
        Json{{"kind", "sgd"}, {"momentum", true}}, Json{{"kind", "adafactor"}}}) {
    for (const auto& [dtype, masters] :
         {std::pair{at::kFloat, false}, {at::kBFloat16, false}, {at::kBFloat16, true}}) {
      const testing::ScratchFolder folder;
      const std::string path = folder.file("state.safetensors");
      ModelOptions options;
      options.dtype = dtype;
      Model model(config, options), resumed(config, options);
      model.initialise_base(1);
      resumed.initialise_base(2);
      const auto optimizer =
          make_optimizer(model.trainable(), settings_of(keys), {.masters = masters});
      const auto other =
          make_optimizer(resumed.trainable(), settings_of(keys), {.masters = masters});
      step(model, *optimizer, 10);
      step(model, *optimizer, 90);
      ASSERT_TRUE(save_checkpoint(path, model, *optimizer, {}, {.steps = 2}));
      ASSERT_TRUE(load_checkpoint(path, resumed, *other, {}));
      EXPECT_EQ(other->steps(), 2U);
      step(model, *optimizer, 200);
      step(resumed, *other, 200);
      for (std::size_t i = 0; i < model.trainable().size(); ++i)
        EXPECT_TRUE(at::equal(model.trainable()[i].value, resumed.trainable()[i].value))
            << keys.dump() << " " << dtype << " " << model.trainable()[i].name;
    }
  }
}

TEST(Optimizers, the_rate_that_is_told_is_the_one_that_is_taken) {
  std::deque<Parameter> parameters;
  const auto rate = [&](const Json& keys, std::uint64_t done) {
    const auto optimizer = make_optimizer(parameters, settings_of(keys));
    optimizer->set_steps(done);
    return optimizer->learning_rate(0.5);
  };
  EXPECT_DOUBLE_EQ(rate({{"kind", "sgd"}, {"learning_rate", 0.2}}, 9), 0.1);
  EXPECT_DOUBLE_EQ(rate({{"kind", "adafactor"}, {"learning_rate", 0.2}}, 9), 0.1);
  EXPECT_DOUBLE_EQ(rate({{"kind", "adafactor"}}, 9), 0.005);
  EXPECT_DOUBLE_EQ(rate({{"kind", "adafactor"}}, 39999), 0.0025);
  EXPECT_DOUBLE_EQ(rate({{"kind", "adafactor"}, {"warmup_init", true}}, 99), 0.5e-4);
}

}  // namespace
}  // namespace headroom::trainer
