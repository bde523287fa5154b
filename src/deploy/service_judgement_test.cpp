// SPDX-License-Identifier: Apache-2.0
// What a machine says to the services that quadlets and compose files describe.
#include "deploy/service_judgement.h"

#include <gmock/gmock.h>

namespace headroom::deploy {
namespace {

using Answer = ServiceRemark::Answer;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view photos_quadlet =
    "[Container]\n"
    "Image=ghcr.io/photos/machine-learning:release-rocm\n"
    "AddDevice=/dev/kfd\n"
    "AddDevice=/dev/dri\n"
    "HealthCmd=wget --spider http://127.0.0.1:3003/ping || exit 1\n"
    "MemoryMax=4G\n";

const knowledge::GpuTables& tables() {
  static const knowledge::GpuTables loaded = *knowledge::load_gpu_tables();
  return loaded;
}

template <class T>
facts::Fact<T> fact(T value) {
  return {std::move(value), facts::Source{"test", 1, ""}};
}

struct Machine {
  facts::Facts facts;
  findings::Diagnosis diagnosis;
};

Machine with_gpu(const std::string& gfx, findings::Level level) {
  Machine machine;
  facts::Gpu gpu;
  gpu.name = "GPU";
  gpu.gfx = fact(gfx);
  machine.facts.gpus = {gpu};
  machine.facts.machine.memory.total = fact(32_GiB);
  findings::Suitability suitability;
  suitability.level = level;
  machine.diagnosis.suitability = {suitability};
  return machine;
}

std::vector<ServiceJudgement> judge(std::string_view text, const Machine& machine) {
  const auto services = read_service_file("/etc/containers/systemd/photos.container", text);
  EXPECT_TRUE(services.has_value());
  return judge_services(*services, machine.facts, machine.diagnosis, tables());
}

std::vector<std::string> answers(const std::vector<ServiceJudgement>& judged) {
  std::vector<std::string> lines;
  for (const ServiceJudgement& service : judged) {
    for (const ServiceRemark& one : service.remarks) {
      lines.push_back(service.name + " " + one.about + " " + std::string(to_string(one.answer)));
    }
  }
  return lines;
}

TEST(ServiceJudgement, an_image_for_rocm_does_not_fit_a_gpu_that_rocm_never_supported) {
  const auto judged = judge(photos_quadlet, with_gpu("gfx90c", findings::Level::no));
  EXPECT_THAT(answers(judged),
              ElementsAre("photos file does-not-fit", "photos image does-not-fit",
                          "photos devices does-not-fit", "photos health check note"));
  EXPECT_TRUE(has_misfit(judged));
  EXPECT_THAT(judged[0].remarks[1].advice,
              EndsWith("(Image=ghcr.io/photos/machine-learning:release)"));
  EXPECT_THAT(judged[0].remarks[3].says, HasSubstr("first model"));
}

TEST(ServiceJudgement, the_same_service_fits_a_card_once_its_limit_stands_in_its_section) {
  std::string text(photos_quadlet);
  text.replace(text.find("MemoryMax"), 0, "[Service]\n");
  const auto judged = judge(text, with_gpu("gfx1100", findings::Level::stable));
  EXPECT_THAT(answers(judged), ElementsAre("photos image fits", "photos devices fits",
                                           "photos memory note", "photos health check note"));
  EXPECT_FALSE(has_misfit(judged));
  EXPECT_EQ(judged[0].remarks[2].value, "4.00 GiB");
}

TEST(ServiceJudgement, devices_that_rocm_needs_and_is_not_given_are_named) {
  const auto judged = judge(
      "services:\n"
      "  ml:\n"
      "    image: rocm/pytorch:latest\n"
      "    devices: [/dev/dri]\n"
      "    mem_limit: 64g\n"
      "  web:\n"
      "    image: nginx\n",
      with_gpu("gfx1100", findings::Level::stable));
  EXPECT_THAT(answers(judged), ElementsAre("ml image fits", "ml devices does-not-fit",
                                           "ml memory note", "ml health check note"));
  EXPECT_THAT(judged[0].remarks[1].advice, HasSubstr("/dev/kfd"));
  EXPECT_THAT(judged[0].remarks[2].says, HasSubstr("limits nothing"));
}

TEST(ServiceJudgement, a_health_check_that_does_work_is_left_alone) {
  const auto judged = judge(
      "services:\n"
      "  ml:\n"
      "    image: rocm/pytorch:latest\n"
      "    devices: [/dev/kfd, /dev/dri]\n"
      "    healthcheck:\n"
      "      test: [\"CMD\", \"python\", \"/app/try_one_request.py\"]\n",
      with_gpu("gfx1100", findings::Level::stable));
  EXPECT_THAT(answers(judged),
              ElementsAre("ml image fits", "ml devices fits", "ml health check fits"));
}

TEST(ServiceFile, a_shell_script_describes_no_service) {
  const auto none = read_service_file("env.sh", "export HSA_XNACK=1\nservices=3\n");
  ASSERT_TRUE(none.has_value());
  EXPECT_THAT(*none, IsEmpty());
}

TEST(ServiceFile, a_health_check_that_is_switched_off_is_none) {
  const auto off = read_service_file(
      "compose.yaml", "services:\n  a:\n    image: b\n    healthcheck: {disable: true}\n");
  ASSERT_TRUE(off.has_value());
  EXPECT_FALSE(off->front().health);
}

TEST(ServiceFile, a_service_is_built_on_the_one_that_it_extends) {
  const auto services = read_service_file("compose.yaml",
                                          "services:\n"
                                          "  base:\n"
                                          "    devices: [/dev/kfd, /dev/dri]\n"
                                          "    mem_limit: 4g\n"
                                          "  ml:\n"
                                          "    image: photos:rocm\n"
                                          "    extends: {service: base}\n"
                                          "    mem_limit: 8g\n");
  ASSERT_TRUE(services.has_value());
  const DescribedService& ml = services->at(1);
  EXPECT_THAT(ml.settings.devices, ElementsAre("/dev/kfd", "/dev/dri"));
  EXPECT_EQ(ml.settings.memory, 8_GiB);
  EXPECT_EQ(ml.image_line, 6U);
  EXPECT_THAT(ml.elsewhere, IsEmpty());
}

TEST(ServiceFile, what_aliases_and_merged_maps_give_belongs_to_the_service) {
  const auto services = read_service_file("compose.yaml",
                                          "x-gpu: &gpu\n"
                                          "  devices: &nodes [/dev/kfd, /dev/dri]\n"
                                          "services:\n"
                                          "  a: {<<: *gpu, image: \"x:rocm\"}\n"
                                          "  b: {image: \"y:rocm\", devices: *nodes}\n");
  ASSERT_TRUE(services.has_value());
  for (const DescribedService& service : *services) {
    EXPECT_THAT(service.settings.devices, ElementsAre("/dev/kfd", "/dev/dri")) << service.name;
    EXPECT_THAT(service.elsewhere, IsEmpty()) << service.name;
  }
}

TEST(ServiceFile, services_that_extend_each_other_end) {
  const auto services = read_service_file("compose.yaml",
                                          "services:\n"
                                          "  a: {image: x, env_file: [one.env], extends: b}\n"
                                          "  b: {image: x, extends: {service: c}}\n"
                                          "  c: {image: x, extends: a}\n");
  ASSERT_TRUE(services.has_value());
  EXPECT_THAT(services->at(1).elsewhere, ::testing::Contains(Elsewhere{"env_file", "one.env"}));
}

TEST(ServiceFile, a_file_of_very_many_services_is_refused) {
  std::string text = "services:\n";
  for (int i = 0; i < 300; ++i) text += "  s" + std::to_string(i) + ": {image: x}\n";
  EXPECT_FALSE(read_service_file("compose.yaml", text).has_value());
}

TEST(ServiceJudgement, devices_that_an_unread_file_may_give_are_no_misfit) {
  const auto judged = judge(
      "services:\n"
      "  ml:\n"
      "    image: photos:rocm\n"
      "    extends: {file: hwaccel.yml, service: rocm}\n"
      "    healthcheck: {test: [\"CMD\", \"python\", \"/try_one.py\"]}\n"
      "    env_file: .env\n",
      with_gpu("gfx1100", findings::Level::stable));
  EXPECT_THAT(answers(judged), ElementsAre("ml image fits", "ml devices note",
                                           "ml health check fits", "ml not read note"));
  EXPECT_THAT(judged[0].remarks[1].says, HasSubstr("the service rocm of hwaccel.yml"));
  EXPECT_EQ(judged[0].remarks[3].value, "hwaccel.yml (extends), .env (env_file)");
}

TEST(ServiceJudgement, what_an_unread_file_may_give_is_a_doubt) {
  const auto judged = judge(
      "services:\n"
      "  ml:\n"
      "    image: photos:cpu\n"
      "    extends: {file: hwaccel.yml, service: rocm}\n",
      with_gpu("gfx90c", findings::Level::no));
  EXPECT_THAT(answers(judged), ElementsAre("ml devices note"));
  EXPECT_THAT(judged[0].remarks[0].says, HasSubstr("the service rocm of hwaccel.yml"));
  EXPECT_THAT(judged[0].remarks[0].advice, HasSubstr("by its path"));
}

TEST(ServiceFile, what_is_no_name_to_extend_is_said_and_not_guessed) {
  const auto services = read_service_file("compose.yaml",
                                          "include: [other.yml]\n"
                                          "services:\n"
                                          "  a: {image: x, extends: {file: b.yml}}\n"
                                          "  b: {image: x, extends: [c]}\n"
                                          "  c: {image: x, env_file: [{required: false}, null]}\n"
                                          "  d: {image: x, extends: gone}\n"
                                          "  e: {image: x, extends: e}\n");
  ASSERT_TRUE(services.has_value());
  std::vector<std::string> said;
  for (const DescribedService& service : *services) {
    for (const Elsewhere& one : service.elsewhere) said.push_back(describe(one));
  }
  EXPECT_THAT(
      said,
      ElementsAre("b.yml (extends: expected a name, or a map with service)", "other.yml (include)",
                  "extends (expected a name, or a map with service)", "env_file (expected a path)",
                  "gone (extends: there is no such service)", "e (extends: it builds on itself)"));
}

TEST(ServiceFile, a_file_of_variables_need_not_be_there_where_the_service_says_so) {
  const auto services =
      read_service_file("compose.yaml",
                        "services:\n"
                        "  a: {image: x, env_file: [a.env, {path: b.env, required: false}]}\n");
  ASSERT_TRUE(services.has_value());
  ASSERT_EQ(services->at(0).elsewhere.size(), 2U);
  EXPECT_FALSE(services->at(0).elsewhere[0].optional);
  EXPECT_TRUE(services->at(0).elsewhere[1].optional);
  const auto quadlets = read_service_file(
      "a.container", "[Container]\nImage=x\nEnvironmentFile=/etc/a.env -/etc/b.env\n");
  ASSERT_TRUE(quadlets.has_value());
  ASSERT_EQ(quadlets->at(0).elsewhere.size(), 2U);
  EXPECT_EQ(quadlets->at(0).elsewhere[1].file, "/etc/b.env");
  EXPECT_TRUE(quadlets->at(0).elsewhere[1].optional);
}

TEST(ServiceFile, what_a_service_says_itself_wins_over_its_files_of_variables) {
  auto services = read_service_file("compose.yaml",
                                    "services:\n"
                                    "  a: {image: x, environment: {A: own}, env_file: a.env}\n");
  ASSERT_TRUE(services.has_value());
  DescribedService& service = services->at(0);
  const facts::Text file("A=file\nB=first\nB=last\n", facts::Source{"a.env", 0, ""});
  take_variables(service, 0, facts::parse_snippet(file, facts::Scope::given));
  EXPECT_THAT(service.elsewhere, IsEmpty());
  EXPECT_EQ(service.settings.environment.at("A"), "own");
  EXPECT_EQ(service.settings.environment.at("B"), "last");
  ASSERT_EQ(service.inherited.size(), 1U);
  EXPECT_EQ(service.inherited[0].source.path, "a.env");
}

TEST(ServiceFile, its_own_files_of_variables_win_over_those_of_its_base) {
  const auto services = read_service_file("compose.yaml",
                                          "services:\n"
                                          "  a: {image: x, env_file: own.env, extends: b}\n"
                                          "  b: {image: x, env_file: base.env}\n");
  ASSERT_TRUE(services.has_value());
  EXPECT_EQ(services->at(0).elsewhere.back().file, "own.env");
}

TEST(ServiceFile, devices_that_are_reset_are_not_those_of_the_base) {
  const auto services = read_service_file("compose.yaml",
                                          "services:\n"
                                          "  base: {image: x, devices: [/dev/kfd]}\n"
                                          "  ml: {image: x, extends: base, devices: !reset []}\n");
  ASSERT_TRUE(services.has_value());
  EXPECT_THAT(services->at(1).settings.devices, IsEmpty());
}

TEST(ServiceJudgement, an_image_for_rocm_is_in_doubt_on_a_target_that_today_s_builds_leave_out) {
  Machine machine = with_gpu("gfx906", findings::Level::stable);
  machine.diagnosis.suitability[0]->route = findings::StackRoute::old_stack;
  const auto judged = judge("services:\n  ml: {image: \"photos:rocm\"}\n", machine);
  EXPECT_EQ(judged[0].remarks[0].answer, Answer::note);
  EXPECT_THAT(judged[0].remarks[0].says, HasSubstr("gfx906"));
}

constexpr std::string_view extending = "services:\n  ml:\n    image: photos:1\n    extends: gpu\n";

TEST(ServiceJudgement, a_base_that_is_not_there_is_a_file_that_compose_refuses) {
  const auto judged = judge(extending, with_gpu("gfx90c", findings::Level::no));
  EXPECT_THAT(answers(judged), ElementsAre("ml file does-not-fit"));
  EXPECT_THAT(judged[0].remarks[0].says, HasSubstr("the service gpu of this file"));
  const std::string whole = std::string(extending) + "  gpu: {}\n";
  EXPECT_THAT(judge(whole, with_gpu("gfx90c", findings::Level::no)), IsEmpty());
}

TEST(ServiceJudgement, the_build_for_the_processor_keeps_a_variables_default) {
  const auto advice = [](const std::string& image) {
    const std::string text =
        "services:\n  ml:\n    image: " + image + "\n    devices: [/dev/kfd]\n";
    return judge(text, with_gpu("gfx90c", findings::Level::no))[0].remarks[0].advice;
  };
  EXPECT_THAT(advice("photos/ml:${VERSION:-release}-rocm"),
              HasSubstr("(image: photos/ml:${VERSION:-release})"));
  EXPECT_THAT(advice("photos/ml:${VERSION:-release-rocm}"), Not(HasSubstr("(image:")));
}

TEST(ServiceJudgement, an_image_without_rocm_fits_beside_a_gpu_that_cannot_run_it) {
  const std::string_view text = "services:\n  ml:\n    image: photos:1\n    devices: [/dev/kfd]\n";
  const auto judged = judge(text, with_gpu("gfx90c", findings::Level::no));
  EXPECT_EQ(judged[0].remarks[0].answer, Answer::fits);
  EXPECT_EQ(judge(text, with_gpu("gfx1100", findings::Level::stable))[0].remarks[0].answer,
            Answer::note);
}

TEST(ServiceJudgement, devices_for_rocm_do_not_fit_a_machine_without_an_amd_gpu) {
  const auto judged = judge(photos_quadlet, Machine{});
  EXPECT_THAT(answers(judged),
              ElementsAre("photos file does-not-fit", "photos image does-not-fit",
                          "photos devices does-not-fit", "photos health check note"));
}

}  // namespace
}  // namespace headroom::deploy
