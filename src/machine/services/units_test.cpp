// SPDX-License-Identifier: Apache-2.0
// Where no service manager runs. What one does, tests/deploy/systemd_test.py tries with a real one.
#include "machine/services/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace headroom::machine {
namespace {

TEST(Units, a_machine_without_a_service_manager_is_an_error_that_says_so) {
  if (const auto library = Libsystemd::load(); !library) GTEST_SKIP() << library.error().message;
  ::setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere/bus",
           1);  // NOLINT(concurrency-mt-unsafe)
  const auto service = make_unit_service({"photos.service", false});
  ::unsetenv("DBUS_SYSTEM_BUS_ADDRESS");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_FALSE(service);
  EXPECT_EQ(service.error().code, Errc::not_found);
  EXPECT_THAT(service.error().message, testing::HasSubstr("the system's service manager"));
  EXPECT_THAT(service.error().next, testing::HasSubstr("systemctl status"));
}

}  // namespace
}  // namespace headroom::machine
