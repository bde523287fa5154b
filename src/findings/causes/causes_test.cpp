// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/causes.h"

#include <gmock/gmock.h>

#include <set>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::diagnose;

TEST(Causes, each_id_has_one_rule_with_its_texts) {
  std::set<std::string_view> ids;
  for (const CauseRule* rule : cause_rules()) {
    EXPECT_TRUE(ids.insert(rule->id).second) << rule->id;
    EXPECT_FALSE(rule->meaning.empty() || rule->why.empty() || rule->fix.empty()) << rule->id;
    EXPECT_NE(rule->find, nullptr) << rule->id;
  }
}

TEST(Causes, a_full_disk_explains_the_exception_that_follows_it) {
  const LogDiagnosis diagnosis = diagnose(
      "OSError: [Errno 28] No space left on device: '/tmp/pip-unpack-x'\n"
      "NameError: name 'torch' is not defined\n");
  EXPECT_EQ(diagnosis.cause.id, "disk-full");
  ASSERT_EQ(diagnosis.consequences.size(), 1U);
  EXPECT_EQ(diagnosis.consequences.front().id, "app-bug");
}

TEST(Causes, a_log_without_a_failure_is_no_proof_of_health) {
  EXPECT_EQ(diagnose("hello\n").cause.id, "insufficient-evidence");
  EXPECT_EQ(diagnose("").cause.id, "insufficient-evidence");
}

}  // namespace
}  // namespace headroom::findings
