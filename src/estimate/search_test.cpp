// SPDX-License-Identifier: Apache-2.0
#include "estimate/search.h"

#include <gtest/gtest.h>

#include <tuple>

#include "base/document.h"

namespace headroom::estimate {
namespace {

const char* const small =
    R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1408,
    "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 8000})";

struct Given {
  Job job;
  Architecture model;
  Device device;
};

Given given(const std::string& keys) {
  auto job = parse_job(*parse_document("[model]\nconfig = \"x\"\n" + keys));
  EXPECT_TRUE(job.has_value()) << job.error().message;
  Given made{*job, *parse_architecture(*parse_json(small)), *find_device(*job)};
  return made;
}

Plan plan_of(const Given& made, const Asked& asked = {}) {
  auto plan = make_plan(made.job, made.model, made.device, asked);
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan ? *std::move(plan) : Plan{};
}

const char* const too_much =
    "[compute]\ndtype = \"fp32\"\nattention = \"math\"\n[batch]\nmicro = 8\nsequence = 1024\n"
    "[device]\ncapacity = \"3GiB\"\n";

TEST(Search, everything_found_fits_and_what_changes_the_result_comes_last) {
  const Given made = given(too_much);
  const Plan plan = plan_of(made);
  ASSERT_EQ(plan.fits, false);
  ASSERT_FALSE(plan.advice.empty());
  bool changing = false;
  for (std::size_t i = 0; i < plan.advice.size(); ++i) {
    const Advice& advice = plan.advice[i];
    EXPECT_TRUE(changes_result(advice.change) || !changing) << "milder advice after harsher";
    const bool same_group = i > 0 && changes_result(advice.change) == changing;
    if (same_group) {
      EXPECT_LE(advice.relative_speed, 1.03 * plan.advice[i - 1].relative_speed);
    }
    changing = changes_result(advice.change);
    Given changed = made;
    changed.job = apply(plan.job, advice.change);
    const Plan again = plan_of(changed);
    EXPECT_EQ(again.fits, true);
    EXPECT_EQ(again.allocated_bytes, advice.allocated_bytes);
  }
}

TEST(Search, a_preference_job_keeps_its_loss_and_its_advice_holds) {
  const Given made = given("[method]\ntrainer = \"dpo\"\n" + std::string(too_much));
  const Plan plan = plan_of(made);
  ASSERT_EQ(plan.fits, false);
  ASSERT_FALSE(plan.advice.empty());
  for (const Change& change : kernel_changes(plan.job, made.model, made.device))
    EXPECT_EQ(change.loss, std::nullopt);
  for (const Advice& advice : plan.advice) {
    Given changed = made;
    changed.job = apply(plan.job, advice.change);
    EXPECT_EQ(plan_of(changed).allocated_bytes, advice.allocated_bytes);
  }
}

TEST(Search, changes_to_very_many_single_experts_are_passed_over_and_said) {
  Given made = given("[device]\ncapacity = \"8GiB\"\n");
  const auto mixture = [](int experts) {
    return *parse_architecture(*parse_json(
        R"({"model_type": "qwen3_moe", "hidden_size": 512, "intermediate_size": 1024,
        "num_hidden_layers": 48, "num_attention_heads": 8, "vocab_size": 8000,
        "num_experts_per_tok": 2, "moe_intermediate_size": 128, "num_experts": )" +
        std::to_string(experts) + "}"));
  };
  made.model = mixture(192);  // 9216 in all.
  const Plan plan = plan_of(made);
  ASSERT_EQ(plan.fits, false);
  EXPECT_TRUE(plan.searched);
  for (const Advice& advice : plan.advice) EXPECT_EQ(advice.change.method, std::nullopt);
  EXPECT_NE(plan.notes.back().find("9216 experts"), std::string::npos) << plan.notes.back();
}

TEST(Search, what_cannot_hold_its_weights_is_not_recorded) {
  const Given made = given("[device]\ncapacity = \"20MiB\"\ncontext = \"0B\"\n");
  const Plan plan = plan_of(made);
  ASSERT_EQ(plan.fits, false);
  EXPECT_TRUE(plan.advice.empty());
}

TEST(Search, no_advice_only_adds_to_another_one) {
  const Plan plan = plan_of(given(too_much));
  for (const Advice& a : plan.advice) {
    for (const Advice& b : plan.advice) {
      const bool faster = &a != &b && a.relative_speed >= b.relative_speed;
      EXPECT_FALSE(faster && within(a.change, b.change));
    }
  }
}

TEST(Search, only_what_changes_the_result_is_left_where_states_alone_are_too_much) {
  const Plan plan =
      plan_of(given("[compute]\ndtype = \"fp32\"\n[optimizer]\noffload = true\n"
                    "[batch]\nsequence = 512\n[device]\ncapacity = \"590MiB\"\n"));
  ASSERT_EQ(plan.fits, false);
  for (const Advice& advice : plan.advice) EXPECT_TRUE(changes_result(advice.change));
}

TEST(Search, a_job_that_fits_is_only_told_what_is_faster_and_only_if_asked) {
  const Given made = given(
      "[compute]\nattention = \"math\"\ncheckpointing = \"layer\"\n[batch]\nsequence = 512\n"
      "[device]\ncapacity = \"16GiB\"\n");
  EXPECT_TRUE(plan_of(made).advice.empty());
  Asked asked;
  asked.settings = true;
  const Plan plan = plan_of(made, asked);
  ASSERT_FALSE(plan.advice.empty());
  for (const Advice& advice : plan.advice) {
    EXPECT_GT(advice.relative_speed, 1.0);
    EXPECT_FALSE(changes_result(advice.change));
  }
}

TEST(Search, automatic_checkpointing_is_the_fastest_that_fits) {
  const std::string keys =
      "[compute]\ncheckpointing = \"auto\"\nattention = \"math\"\n[batch]\nmicro = 4\n[device]\n";
  const Plan roomy = plan_of(given(keys + "capacity = \"64GiB\"\n"));
  EXPECT_EQ(roomy.job.compute.checkpointing, Checkpointing::none);
  const Plan tight = plan_of(given(keys + "capacity = \"2GiB\"\n"));
  EXPECT_EQ(tight.fits, true);
  EXPECT_NE(tight.job.compute.checkpointing, Checkpointing::none);
  const Plan unknown = plan_of(given(keys));
  EXPECT_EQ(unknown.job.compute.checkpointing, Checkpointing::none);
  EXPECT_FALSE(unknown.notes.empty());
}

TEST(Search, automatic_batch_and_checkpointing_are_chosen_together) {
  const Plan plan =
      plan_of(given("[compute]\ncheckpointing = \"auto\"\n[batch]\nmicro = \"auto\"\nglobal = 32\n"
                    "[device]\ncapacity = \"4GiB\"\n"));
  EXPECT_EQ(plan.fits, true);
  EXPECT_NE(plan.job.compute.checkpointing, Checkpointing::automatic);
  EXPECT_EQ(*plan.job.batch.micro * *plan.job.batch.accumulate, 32U);
}

TEST(Search, largest_batch_and_sequence_fit_and_one_more_does_not) {
  for (const Quantity quantity : {Quantity::batch, Quantity::sequence}) {
    Given made = given("[device]\ncapacity = \"4GiB\"\n[batch]\nmicro = 2\n");
    Asked asked;
    asked.largest = quantity;
    const Plan plan = plan_of(made, asked);
    ASSERT_TRUE(plan.largest_fit.has_value());
    const std::uint64_t value = plan.largest_fit->value;
    EXPECT_GT(value, 2U);
    const auto fits_with = [&](std::uint64_t amount) {
      if (quantity == Quantity::batch) made.job.batch.micro = amount;
      if (quantity == Quantity::sequence) made.job.batch.sequence = amount;
      return plan_of(made).fits;
    };
    EXPECT_EQ(fits_with(value), true);
    EXPECT_EQ(fits_with(value + 1), false);
  }
}

TEST(Search, cards_hold_the_job_as_it_is_amds_first_then_the_cheapest_class) {
  const Given made = given("[batch]\nmicro = 24\n[device]\ncapacity = \"4GiB\"\n");
  const Plan plan = plan_of(made);
  ASSERT_EQ(plan.fits, false);
  ASSERT_FALSE(plan.cards.empty());
  const auto rank = [](const FittingCard& fitting) {
    const knowledge::Card card = *knowledge::find_card(fitting.name);
    return std::tuple(card.vendor, card.kind, card.vram);
  };
  for (std::size_t i = 0; i < plan.cards.size(); ++i) {
    EXPECT_LE(rank(plan.cards[i > 0 ? i - 1 : 0]), rank(plan.cards[i]));
    Given on_card = made;
    on_card.device = *device_of(made.job, *knowledge::find_card(plan.cards[i].name));
    EXPECT_EQ(plan_of(on_card).fits, true) << plan.cards[i].name;
  }
}

TEST(Search, a_card_without_the_kernel_that_the_job_names_is_none) {
  const Plan plan = plan_of(given(
      "[compute]\nattention = \"flash\"\n[batch]\nmicro = 64\n[device]\ncapacity = \"4GiB\"\n"));
  for (const FittingCard& card : plan.cards)
    EXPECT_EQ(knowledge::find_card(card.name)->attention, knowledge::FusedAttention::flash);
}

TEST(Search, nine_tenths_of_the_device_are_a_borderline) {
  const Plan open = plan_of(given("[batch]\nmicro = 4\n"));
  EXPECT_EQ(open.verdict, Verdict::unknown);
  const auto with = [&](double share) {
    Given made = given("[batch]\nmicro = 4\n");
    made.device.capacity =
        Bytes{static_cast<std::uint64_t>(static_cast<double>(open.device_bytes) / share)};
    return plan_of(made).verdict;
  };
  EXPECT_EQ(with(0.5), Verdict::fits);
  EXPECT_EQ(with(0.95), Verdict::borderline);
  EXPECT_EQ(with(2.0), Verdict::does_not_fit);
}

}  // namespace
}  // namespace headroom::estimate
