// SPDX-License-Identifier: Apache-2.0
#include "deploy/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::deploy {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string smallest =
    "[service]\nname = \"ml\"\nkind = \"systemd\"\nunit = \"ml.service\"\n"
    "[[change]]\nfile = \"/etc/ml.env\"\nwith = \"new.env\"\n"
    "[smoke]\nurl = \"http://127.0.0.1:3003/predict\"\n";

std::string error_of(const std::string& text) {
  const auto spec = parse_service_spec(text, "ml.toml");
  return spec ? "" : spec.error().message;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(ServiceSpec, what_is_left_out_has_its_default) {
  const auto spec = parse_service_spec(smallest, "ml.toml");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->health.timeout_s, 60);
  EXPECT_EQ(spec->smoke.request->method, "GET");
  EXPECT_EQ(spec->smoke.expect_status, 200U);
  EXPECT_EQ(spec->smoke.repeat, 20U);
  EXPECT_EQ(spec->smoke.concurrency, 4U);
  EXPECT_EQ(spec->smoke.timeout_s, 120);
  EXPECT_FALSE(spec->smoke.same_answers);
  EXPECT_EQ(spec->smoke.tolerance, 0.01);
  EXPECT_FALSE(spec->expect.gpu);
  EXPECT_EQ(spec->expect.faster, 0);
  EXPECT_EQ(spec->watch.seconds, 600);
  EXPECT_EQ(spec->watch.crashes, 0U);
  EXPECT_EQ(spec->watch.hang_s, 60);
}

TEST(ServiceSpec, what_may_be_tuned_needs_no_change) {
  const std::string start = "[service]\nname = \"ml\"\nkind = \"systemd\"\nunit = \"ml.service\"\n";
  const std::string end = "[smoke]\nurl = \"http://127.0.0.1:3003/predict\"\n";
  const auto spec = parse_service_spec(
      start +
          "[[tune]]\nname = \"WORKERS\"\nvalues = [1, \"2\", 0.5, true]\n"
          "[[tune]]\nname = \"--threads\"\nas = \"option\"\nfile = \"a.service\"\nvalues = "
          "[\"4\"]\nrole = \"threads\"\n" +
          end,
      "ml.toml");
  ASSERT_TRUE(spec) << spec.error().message;
  ASSERT_EQ(spec->tune.size(), 2U);
  EXPECT_THAT(spec->tune[0].values, testing::ElementsAre("1", "2", "0.5", "true"));
  EXPECT_EQ(spec->tune[0].as, TuneSetting::As::environment);
  EXPECT_EQ(spec->tune[1].role, TuneSetting::Role::threads);
  EXPECT_THAT(error_of(start + "[[tune]]\nname = \"A\"\n" + end), HasSubstr("tune[0].values"));
  for (const char* values : {"[nan, 1]", "[1, inf]"}) {
    EXPECT_THAT(error_of(start + "[[tune]]\nname = \"A\"\nvalues = " + values + "\n" + end),
                HasSubstr("tune[0].values"));
  }
  for (const char* values : {"[0]", "[-1, 2]", "[1.5]", "[1e308]", "[\"auto\"]"}) {
    EXPECT_THAT(error_of(start + "[[tune]]\nname = \"A\"\nrole = \"workers\"\nvalues = " + values +
                         "\n" + end),
                HasSubstr("whole numbers"))
        << values;
  }
  EXPECT_THAT(error_of(start + end), HasSubstr("change"));
}

TEST(ServiceSpec, keys_stand_alone) {
  const std::string set = "set = { keys = { workers = \"4\" } }";
  const auto spec = parse_service_spec(with(smallest, "with = \"new.env\"", set), "ml.toml");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->changes[0].set->keys.at("workers"), "4");
  EXPECT_THAT(error_of(with(smallest, "with = \"new.env\"",
                            "set = { keys = { a = \"4\" }, memory = \"1GiB\" }")),
              HasSubstr("keys alone"));
  EXPECT_THAT(
      error_of(with(smallest, "with = \"new.env\"", "set = { keys = { \"a b\" = \"4\" } }")),
      HasSubstr("a b"));
}

TEST(ServiceSpec, every_key_is_read) {
  const auto spec = parse_service_spec(
      "[service]\nname = \"ml\"\nkind = \"compose\"\nfile = \"compose.yaml\"\nservice = \"ml\"\n"
      "[[change]]\nset = { image = \"a:b\", environment = { A = \"1\" }, devices = [\"/dev/kfd\"], "
      "groups = [\"render\"], memory = \"8GiB\", command = [\"serve\"] }\n"
      "[health]\ncommand = [\"true\"]\ntimeout_s = 5\n"
      "[smoke]\nurl = \"https://[::1]:8443/x\"\nmethod = \"POST\"\nbody_file = \"a.jpg\"\n"
      "headers = { Authorization = \"x\" }\nexpect_status = 201\nexpect_json = { \"/a/0\" = 1.5, "
      "\"/b\" = \"c\" }\n"
      "expect_text = 'a+'\nrepeat = 2\ntimeout_s = 3\nsame_answers = true\ntolerance = 0.1\nignore "
      "= [\"/t\"]\n"
      "[expect]\ngpu = true\nfaster = 1.5\nmemory = \"6GiB\"\n"
      "[watch]\nseconds = 10\ncrashes = 2\nhang_s = 5\n",
      "ml.toml");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->changes[0].file, "compose.yaml");
  EXPECT_EQ(spec->changes[0].set->memory, 8_GiB);
  EXPECT_EQ(spec->smoke.concurrency, 2U);  // As many as there are.
  EXPECT_EQ(spec->smoke.expect_json.size(), 2U);
  EXPECT_EQ(spec->expect.memory, 6_GiB);
}

TEST(ServiceSpec, mistakes_are_named_with_their_line_and_key) {
  EXPECT_THAT(error_of(smallest + "repet = 3\n"),
              AllOf(HasSubstr("ml.toml"), HasSubstr("line 10"), HasSubstr("smoke.repet")));
  EXPECT_THAT(error_of(with(smallest, "unit = \"ml.service\"\n", "")), HasSubstr("service.unit"));
  EXPECT_THAT(error_of(with(smallest, "unit = ", "start = [\"a\"]\nunit = ")),
              HasSubstr("service.start"));
  EXPECT_THAT(error_of(with(smallest, "systemd", "openrc")), HasSubstr("service.kind"));
  EXPECT_THAT(error_of(with(smallest, "\"ml\"", "\"../ml\"")), HasSubstr("service.name"));
  EXPECT_THAT(error_of(with(smallest, "with = \"new.env\"\n", "")), HasSubstr("with or set"));
  EXPECT_THAT(error_of(smallest + "command = [\"true\"]\n"), HasSubstr("found both"));
  EXPECT_THAT(error_of(smallest + "expect_text = \"(\"\n"), HasSubstr("smoke.expect_text"));
  EXPECT_THAT(error_of(smallest + "repeat = 0\n"), HasSubstr("smoke.repeat"));
  EXPECT_THAT(error_of(smallest + "repeat = 2\nconcurrency = 3\n"), HasSubstr("smoke.concurrency"));
  EXPECT_THAT(error_of(smallest + "ignore = [\"t\"]\n"), HasSubstr("JSON pointers"));
  EXPECT_THAT(error_of(smallest + "[watch]\nhang_s = -1\n"), HasSubstr("watch.hang_s"));
  EXPECT_THAT(error_of(smallest + "[expect]\nmemory = \"1GiB\"\njob = \"j\"\n"),
              HasSubstr("expect.job"));
  EXPECT_THAT(error_of("[service"), HasSubstr("ml.toml"));
  EXPECT_NE(error_of(""), "");
}

TEST(ServiceSpec, command_lines_are_lists_that_begin_with_a_program) {
  const std::string commands = with(smallest, "kind = \"systemd\"\nunit = \"ml.service\"\n",
                                    "kind = \"commands\"\nstart = [\"a\", \"b\"]\nstop = [\"c\"]\n"
                                    "status = [\"d\"]\n");
  ASSERT_TRUE(parse_service_spec(commands, "ml.toml"));
  for (const std::string wrong : {"\"a b\"", "[\"\"]", "[\"a\", \"\\u0000\"]"}) {
    EXPECT_THAT(error_of(with(commands, "[\"a\", \"b\"]", wrong)),
                AllOf(HasSubstr("service.start"), HasSubstr("list of words")))
        << wrong;
  }
  EXPECT_THAT(error_of(with(commands, "stop = ", "pidfile = \"\"\nstop = ")),
              HasSubstr("service.pidfile"));
}

TEST(ServiceSpec, urls_that_are_none_are_refused_without_their_secrets) {
  for (const std::string url : {"ftp://h/", "http://", "http://h:0/", "http://h:99999/",
                                "http:// h/", "127.0.0.1:3003", "http://:80/", "http://[::1/"}) {
    EXPECT_THAT(error_of(with(smallest, "http://127.0.0.1:3003/predict", url)),
                HasSubstr("smoke.url"))
        << url;
  }
  EXPECT_THAT(error_of(with(smallest, "http://", "http://anna:geheim@")),
              AllOf(HasSubstr("password"), Not(HasSubstr("geheim"))));
}

TEST(ServiceSpec, placeholders_of_the_template_are_refused_with_what_to_write) {
  EXPECT_THAT(
      error_of(with(smallest, "http://127.0.0.1:3003/predict", "http://127.0.0.1:PORT/PATH")),
      HasSubstr("the template's placeholder http://127.0.0.1:PORT/PATH"));
  const std::string with_set =
      with(smallest, "with = \"new.env\"", "set = { image = \"IMAGE:TAG\" }");
  EXPECT_THAT(error_of(with_set), HasSubstr("the template's placeholder IMAGE:TAG"));
  EXPECT_THAT(
      error_of(with(with_set, "image = \"IMAGE:TAG\"", "environment = { NAME = \"VALUE\" }")),
      HasSubstr("the template's placeholder VALUE"));
  EXPECT_EQ(error_of(with(with_set, "IMAGE:TAG", "photos:2")), "");
}

}  // namespace
}  // namespace headroom::deploy
