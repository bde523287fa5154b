// SPDX-License-Identifier: Apache-2.0
#include "report/fleet_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headroom::report {
namespace {

Json answer(const char* verdict, const char* finding = "") {
  Json document{{"schema", "headroom.check/1"}, {"machine", Json::object()},
                {"verdict", verdict},           {"cause", nullptr},
                {"findings", Json::array()},    {"gpus", Json::array()}};
  const Json rung{{"rung", "vram"}, {"binding", true}, {"limit_bytes", 21474836480U}};
  const Json gpu{{"name", "AMD Radeon RX 7900 XT"}, {"gfx", "gfx1100"}, {"ladder", {rung}}};
  document["gpus"] = {gpu, gpu};
  if (*finding != '\0') {
    document["cause"] = {{"id", finding}, {"title", "why \x1b[31m"}};
    document["findings"] = {{{"id", finding}, {"severity", "error"}, {"next", "headroom reclaim"}}};
  }
  return document;
}

Fleet fleet_of(const std::vector<std::pair<std::string, Json>>& answers) {
  Fleet fleet;
  for (const auto& [name, document] : answers)
    fleet.machines.push_back(*read_fleet_machine(name, document));
  sort_fleet(fleet);
  return fleet;
}

TEST(FleetReport, the_worst_first_and_numbers_as_numbers) {
  const Fleet fleet = fleet_of(
      {{"gpu10", answer("ok")}, {"gpu9", answer("ok")}, {"gpu3", answer("broken", "vram-lost")}});
  EXPECT_EQ(fleet.machines[0].name, "gpu3");
  EXPECT_EQ(fleet.machines[1].name, "gpu9");
  EXPECT_EQ(fleet.machines[2].name, "gpu10");
}

TEST(FleetReport, says_what_is_to_be_done_once_for_all) {
  const Fleet fleet = fleet_of({{"a", answer("broken", "vram-lost")},
                                {"b", answer("broken", "vram-lost")},
                                {"c", answer("ok")}});
  const std::string text = fit(to_text(fleet, Style{false, 100}), 100);
  EXPECT_NE(text.find("3 machines: 2 broken, 1 ok\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  error: vram-lost on 2: a, b\n      headroom reclaim\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("2 x AMD Radeon RX 7900 XT (gfx1100), 20.00 GiB"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_TRUE(has_problem(fleet));
}

TEST(FleetReport, is_well_where_all_are) {
  EXPECT_FALSE(has_problem(fleet_of({{"a", answer("ok")}, {"b", answer("limited")}})));
  EXPECT_TRUE(has_problem(fleet_of({{"a", answer("no-gpu")}})));
  Fleet unread;
  unread.unread = {{"x", "why"}};
  EXPECT_TRUE(has_problem(unread));
}

TEST(FleetReport, what_is_no_answer_about_a_machine_is_refused) {
  Json of_a_log = answer("ok");
  of_a_log["machine"] = nullptr;
  for (const Json& other : {Json(), Json::array(), Json(3), Json{{"schema", 1}}, of_a_log}) {
    EXPECT_FALSE(read_fleet_machine("x", other)) << other;
  }
}

TEST(FleetReport, values_of_other_types_do_no_harm) {
  Json odd = answer("ok");
  odd["cause"] = 3;
  odd["verdict"] = Json::array();
  odd["gpus"] = {1, "two", nullptr, {{"ladder", {1, {{"binding", "yes"}}}}}};
  odd["findings"] = {{{"id", 7}}, nullptr};
  const auto machine = read_fleet_machine("x", odd);
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->verdict, findings::Verdict::unknown);
  EXPECT_FALSE(to_text(fleet_of({{"x", odd}}), Style{}).empty());
}

}  // namespace
}  // namespace headroom::report
