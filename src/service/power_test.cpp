// SPDX-License-Identifier: Apache-2.0
// The power of a processor, by counters in a folder that mirrors a machine.
#include "service/power.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "machine/clock.h"
#include "machine/temporary_folder.h"

namespace headroom::service {
namespace {

class PowerLooks : public testing::Test {
 protected:
  PowerLooks() : folder_(*machine::TemporaryFolder::make()) { write("proc/version", "Linux\n"); }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path(folder_.path() + "/" + name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void count(int package, const std::string& uj) const {
    write("sys/class/powercap/intel-rapl:" + std::to_string(package) + "/energy_uj", uj + "\n");
  }

  machine::TemporaryFolder folder_;
};

TEST_F(PowerLooks, packages_are_added_and_a_counter_may_begin_anew) {
  count(0, "1000000");
  count(1, "999000000");
  write("sys/class/powercap/intel-rapl:1/max_energy_range_uj", "1000000000\n");
  const auto files = machine::Files::open(folder_.path());
  ASSERT_TRUE(files);
  const std::uint64_t began = machine::monotonic_ns();
  const PowerLook look(*files);
  machine::sleep_ms(20);
  count(0, "3000000");  // 2 J,
  count(1, "2000000");  // and 3 J, beyond its highest value.
  const auto watts = look.watts();
  ASSERT_TRUE(watts);
  // However long the reading took: no more than 5 J in the time that was waited at least.
  const double most_s = static_cast<double>(machine::monotonic_ns() - began) / 1e9;
  EXPECT_LE(*watts, 5 / 0.020);
  EXPECT_GE(*watts, 5 / most_s);
}

TEST_F(PowerLooks, without_counters_it_is_not_known) {
  const auto files = machine::Files::open(folder_.path());
  ASSERT_TRUE(files);
  EXPECT_FALSE(PowerLook(*files).watts());
  count(0, "5000000");
  const PowerLook look(*files);
  count(0, "4000000");  // It went back, and nobody says how far it goes.
  EXPECT_FALSE(look.watts());
}

}  // namespace
}  // namespace headroom::service
