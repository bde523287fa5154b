// SPDX-License-Identifier: Apache-2.0
// Host memory beside the device's: the same numbers to the bit, whatever is offloaded; less on the
// device; and what happens where either of the two does not suffice.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "trainer/host_domain.h"
#include "trainer/ops/by_libtorch.h"
#include "trainer/ops/row_blocks.h"
#include "trainer/optimizer.h"
#include "trainer/projections.h"
#include "trainer/step.h"
#include "trainer/testing/plain_memory.h"
#include "trainer/testing/tiny_models.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using allocator::Component;
using estimate::Checkpointing;
using estimate::ModelConfig;
using ::testing::HasSubstr;
using testing::PlainMemory;

// Refuses the request that comes after `granted` others.
class FailingMemory final : public allocator::Policy {
 public:
  explicit FailingMemory(std::uint64_t granted) : granted_(granted) {}

  std::optional<allocator::Address> allocate(const allocator::Request& request) override {
    if (asked_++ == granted_) return std::nullopt;
    return memory_.allocate(request);
  }
  void free(allocator::Address address) override { memory_.free(address); }
  void retag(allocator::Address address, Component tag) override { memory_.retag(address, tag); }
  void synchronize(allocator::StreamId) override {}
  const allocator::Usage& usage() const override { return memory_.usage(); }
  std::string_view name() const override { return "failing"; }

  bool has_refused() const { return asked_ > granted_; }

 private:
  PlainMemory memory_;
  std::uint64_t granted_;
  std::uint64_t asked_ = 0;
};

constexpr std::uint64_t never = std::uint64_t{1} << 60U;

std::unique_ptr<HostDomain> plain_host(Bytes capacity = {std::uint64_t{1} << 40U}) {
  return std::make_unique<HostDomain>(std::make_unique<PlainMemory>(capacity), capacity);
}

TEST(HostDomain, counts_by_component_and_gives_back) {
  const auto host = plain_host();
  {
    const at::Tensor states = host->empty({3, 100}, at::kFloat, Component::optimizer);
    const at::Tensor kept = host->empty({100}, at::kBFloat16, Component::activations);
    states.fill_(2);
    EXPECT_EQ(states.sum().item<float>(), 600);
    EXPECT_EQ(host->usage().live[Component::optimizer], 1536U);
    EXPECT_EQ(host->usage().live[Component::activations], 512U);
    EXPECT_EQ(host->empty({0, 5}, at::kFloat, Component::other).numel(), 0);
  }
  EXPECT_EQ(host->usage().live_bytes, 0U);
  EXPECT_EQ(host->usage().live_peak_bytes, 2048U);
}

TEST(HostDomain, what_does_not_fit_is_an_error_with_the_next_step) {
  const auto host = plain_host(4_KiB);
  const at::Tensor kept = host->empty({512}, at::kFloat, Component::optimizer);
  try {
    host->empty({1024}, at::kFloat, Component::activations);
    ADD_FAILURE() << "it was granted";
  } catch (const OutOfHostMemory& problem) {
    EXPECT_EQ(problem.error().code, Errc::out_of_memory);
    EXPECT_THAT(problem.error().message, HasSubstr("4.0 KiB of the activations"));
    EXPECT_THAT(problem.error().next, HasSubstr("device.host_capacity"));
  }
}

TEST(HostDomain, has_memory_of_this_machine_up_to_its_capacity) {
  for (const bool virtual_memory : {true, false}) {
    const auto host = HostDomain::create(8_MiB, virtual_memory);
    ASSERT_TRUE(host) << host.error().message;
    const at::Tensor states = (*host)->empty({1 << 20}, at::kFloat, Component::optimizer);
    states.fill_(1);
    EXPECT_THROW((*host)->empty({1 << 21}, at::kFloat, Component::optimizer), OutOfHostMemory);
    EXPECT_EQ(states.sum().item<float>(), 1 << 20);
  }
}

const std::vector<std::pair<std::string, OptimizerSettings>>& all_optimizers() {
  static const std::vector<std::pair<std::string, OptimizerSettings>> all = {
      {"adamw", AdamWSettings{}},
      {"adamw8bit", AdamWSettings{.in_bytes = true}},
      {"sgd", SgdSettings{}},
      {"sgd with momentum", SgdSettings{.weight_decay = 0.1, .momentum = 0.9, .nesterov = true}},
      {"adafactor", AdafactorSettings{.scale_parameter = true}}};
  return all;
}

// After three steps of a matrix of several blocks, one of a part of a block, and a vector.
std::vector<at::Tensor> stepped(const OptimizerSettings& settings, at::ScalarType type,
                                const StateOptions& states) {
  at::manual_seed(3);
  std::deque<Parameter> parameters;
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{5, ops::block_elements / 3 + 7}, {37, 150}, {700}})
    parameters.push_back({"p", at::randn(shape).to(type), {}, true});
  const auto optimizer = make_optimizer(parameters, settings, states);
  for (int step = 0; step < 3; ++step) {
    for (Parameter& parameter : parameters)
      parameter.grad = at::randn(parameter.value.sizes()).to(type);
    optimizer->step({.rate = 0.5, .gradient = 0.25});
  }
  std::vector<at::Tensor> found;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    found.push_back(parameters[i].value);
    for (const auto& state : optimizer->states_of(i)) found.push_back(state.value.clone());
  }
  return found;
}

void expect_equal(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected,
                  const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(found[i].equal(expected[i])) << what << ": " << i;
}

TEST(OffloadedOptimizer, every_one_takes_the_same_steps_to_the_bit) {
  for (const auto& [name, settings] : all_optimizers()) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const auto host = plain_host();
      for (const bool masters : {false, true})
        expect_equal(stepped(settings, type, {.masters = masters, .host = host.get()}),
                     stepped(settings, type, {.masters = masters}), name);
    }
  }
}

// What a GPU computes with; Adafactor is not on one.
TEST(OffloadedOptimizer, so_does_libtorch) {
  const ops::WithoutKernels by_libtorch;
  for (const auto& [name, settings] : all_optimizers()) {
    if (name == "adafactor") continue;
    const auto host = plain_host();
    expect_equal(stepped(settings, at::kFloat, {.host = host.get()}),
                 stepped(settings, at::kFloat, {}), name);
  }
}

TEST(OffloadedOptimizer, the_device_holds_a_block_of_each_state_during_a_step_alone) {
  const std::int64_t numbers = 3 * ops::block_elements + 5;
  PlainMemory policy;
  const TorchMemory memory(policy);
  const auto host = plain_host();
  std::deque<Parameter> parameters;
  parameters.push_back({"w", at::zeros({numbers}), {}, true});
  const auto optimizer = make_optimizer(parameters, AdamWSettings{}, {.host = host.get()});
  parameters[0].grad = at::ones({numbers});
  const std::uint64_t before = memory.usage().live_bytes;
  optimizer->step();
  const std::uint64_t staged = 2 * sizeof(float) * ops::block_elements;
  EXPECT_EQ(memory.usage().live_peak_bytes, before + staged);
  EXPECT_EQ(memory.peak_by_component()[Component::optimizer], 0U);
  EXPECT_EQ(memory.peak_by_component()[Component::workspace], staged);
  EXPECT_EQ(host->usage().live[Component::optimizer],
            2 * round_up(sizeof(float) * static_cast<std::uint64_t>(numbers), 512));
}

std::unique_ptr<Model> make_model(const ModelConfig& config, const ModelOptions& options) {
  auto model = std::make_unique<Model>(config, options);
  model->initialise_base(1);
  model->initialise_adapters(2);
  for (Parameter& parameter : model->adapters()) parameter.value.add_(0.05);
  return model;
}

std::vector<at::Tensor> gradients_of(const ModelConfig& config, ModelOptions options,
                                     HostDomain* host) {
  options.activations_host = host;
  const auto model = make_model(config, options);
  const auto batch = testing::pad(testing::random_samples({9, 5, 14}, config.vocabulary));
  std::vector<at::Tensor> found;
  for (std::uint64_t micro = 0; micro < 2; ++micro)
    found.push_back(at::tensor(train_micro_batch(*model, batch, 0.3, micro), at::kDouble));
  for (const Parameter& parameter : model->trainable()) found.push_back(parameter.grad);
  return found;
}

TEST(OffloadedLayers, every_family_and_method_has_the_same_gradients_to_the_bit) {
  ModelConfig normalised = testing::tiny_config();
  normalised.qk_norm = true;
  ModelConfig fused = testing::tiny_config();
  fused.fused = true;
  fused.qkv_bias = false;
  for (const auto& config : {testing::tiny_config(), normalised, fused, testing::tiny_gpt2_config(),
                             testing::tiny_gemma2_config()}) {
    for (const char* method : {"full", "lora", "qlora"}) {
      for (const auto attention : {estimate::Attention::math, estimate::Attention::efficient}) {
        ModelOptions options;
        options.longest = 300;
        options.attention = attention;
        const std::string name(method);
        if (name != "full")
          options.lora = LoraOptions{
              .rank = 3, .dropout = 0.2, .targets = {all_targets.begin(), all_targets.end()}};
        if (name == "qlora") options.quantised = estimate::WeightFormat::nf4;
        const auto plain = gradients_of(config, options, nullptr);
        for (const auto checkpointing :
             {Checkpointing::none, Checkpointing::selective, Checkpointing::layer}) {
          options.checkpointing = checkpointing;
          const auto host = plain_host();
          expect_equal(gradients_of(config, options, host.get()), plain,
                       config.family + " " + name);
          expect_equal(gradients_of(config, options, nullptr), plain, config.family + " " + name);
          EXPECT_GT(host->usage().live_peak_bytes, 0U);
          EXPECT_EQ(host->usage().live_bytes, 0U);
        }
      }
    }
  }
}

TEST(OffloadedLayers, the_device_holds_what_one_layer_keeps) {
  const auto peak = [](std::uint64_t layers, HostDomain* host) {
    PlainMemory policy;
    const TorchMemory memory(policy);
    ModelConfig config = testing::tiny_config();
    config.layers = layers;
    ModelOptions options;
    options.activations_host = host;
    const auto model = make_model(config, options);
    train_micro_batch(*model, testing::pad(testing::random_samples({200, 200}, 17)), 0.1, 1);
    return memory.usage().live_peak_bytes - memory.usage().live[Component::weights] -
           memory.usage().live[Component::gradients];
  };
  const auto host = plain_host();
  EXPECT_GT(peak(12, nullptr), 2 * peak(4, nullptr));
  EXPECT_LT(peak(12, host.get()), peak(4, host.get()) + peak(4, host.get()) / 20);
  EXPECT_LT(peak(12, host.get()), peak(4, nullptr));
}

// A step that fails at some request leaves nothing behind, and is done again with the same result.
struct Injected {
  bool refused = false;
  std::vector<double> sums;  // Of the second step's gradients; none: it did not come to it.
};

Injected step_with(std::uint64_t device_grants, std::uint64_t host_grants) {
  FailingMemory policy(device_grants);
  auto memory_of_host = std::make_unique<FailingMemory>(host_grants);
  const FailingMemory& on_host = *memory_of_host;
  HostDomain host(std::move(memory_of_host), Bytes{0});
  Injected injected;
  {
    const TorchMemory memory(policy);
    try {
      ModelOptions options;
      options.activations_host = &host;
      const auto model = make_model(testing::tiny_config(), options);
      const auto optimizer = make_optimizer(model->trainable(), AdamWSettings{}, {.host = &host});
      const auto batch = testing::pad(testing::random_samples({9, 5}, 17));
      for (int step = 0; step < 2; ++step) {
        try {
          train_micro_batch(*model, batch, 0.3, 1);
        } catch (const std::exception&) {
          injected.refused = true;
          drop_gradients(model->trainable());
          EXPECT_EQ(host.usage().live[Component::activations], 0U);
          EXPECT_EQ(memory.usage().live[Component::activations], 0U);
          train_micro_batch(*model, batch, 0.3, 1);
        }
        if (step == 0) optimizer->step();
      }
      std::vector<double> sums;
      for (const Parameter& parameter : model->trainable())
        sums.push_back(parameter.grad.to(at::kDouble).sum().item<double>());
      injected.sums = std::move(sums);
    } catch (const std::exception&) {
      injected.refused = true;  // Of the model, or of the optimizer.
    }
    injected.refused |= on_host.has_refused();
  }
  EXPECT_EQ(policy.usage().live_bytes, 0U);
  EXPECT_EQ(host.usage().live_bytes, 0U);
  return injected;
}

TEST(Offload, a_refusal_anywhere_leaves_nothing_and_a_second_try_is_the_same) {
  const Injected whole = step_with(never, never);
  ASSERT_FALSE(whole.refused);
  const auto expect_none_lost = [&](const auto& step_of) {
    std::uint64_t refusals = 0, again = 0;
    for (std::uint64_t granted = 0;; ++granted) {
      const Injected injected = step_of(granted);
      if (!injected.refused) break;
      ++refusals;
      if (injected.sums.empty()) continue;
      ++again;
      EXPECT_EQ(injected.sums, whole.sums) << granted;
    }
    EXPECT_GT(refusals, 50U);
    EXPECT_GT(again, 20U);
  };
  expect_none_lost([](std::uint64_t granted) { return step_with(granted, never); });
  expect_none_lost([](std::uint64_t granted) { return step_with(never, granted); });
}

}  // namespace
}  // namespace headroom::trainer
