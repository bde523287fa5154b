// SPDX-License-Identifier: Apache-2.0
// The recorded facts about well-known models: each is in the table under its name, and comes out at
// the number of parameters that was published or follows from its shapes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/document.h"
#include "estimate/models/architecture.h"
#include "estimate/models/parameters.h"

namespace headroom::estimate {
namespace {

const std::filesystem::path recorded =
    std::filesystem::path(HEADROOM_SHARED_DIR) / "research/model_configs.json";

// The facts count Gemma 3's text alone.
void drop_tower(Architecture& model) {
  if (!model.projector) return;
  model.projector.reset();
  model.stacks.erase(model.stacks.begin());
}

TEST(ModelConfigs, recorded_models_have_their_number_of_parameters) {
  if (!std::filesystem::exists(recorded)) GTEST_SKIP() << "no " << recorded;
  std::ifstream in(recorded);
  const auto facts = parse_json(std::string(std::istreambuf_iterator<char>(in), {}));
  ASSERT_TRUE(facts) << facts.error().message;
  for (const auto& [name, fact] : facts->at("models").items()) {
    auto model = find_architecture(name);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_TRUE(model->notes.empty()) << name << ": " << model->notes.front();
    drop_tower(*model);
    EXPECT_EQ(parameter_count(*model), fact.at("param_count_from_formula")) << name;
    if (fact.contains("hidden_size")) {
      EXPECT_EQ(model->main().hidden, fact.at("hidden_size")) << name;
      EXPECT_EQ(model->main().attention.head_dim, fact.at("head_dim")) << name;
    }
  }
}

}  // namespace
}  // namespace headroom::estimate
