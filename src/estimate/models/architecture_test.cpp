// SPDX-License-Identifier: Apache-2.0
#include "estimate/models/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimate/models/parameters.h"
#include "knowledge/models.h"

namespace headroom::estimate {
namespace {

TEST(ModelTable, every_model_has_as_many_parameters_as_its_row_says) {
  const auto models = knowledge::load_models();
  ASSERT_TRUE(models) << models.error().message;
  EXPECT_GE(models->size(), 87U);
  for (const auto& model : *models) {
    const auto architecture = parse_architecture(model.config);
    ASSERT_TRUE(architecture) << model.name << ": " << architecture.error().message;
    EXPECT_EQ(parameter_count(*architecture), model.parameters) << model.name;
    EXPECT_TRUE(architecture->notes.empty()) << model.name << ": " << architecture->notes.front();
  }
}

}  // namespace
}  // namespace headroom::estimate
