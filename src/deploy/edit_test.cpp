// SPDX-License-Identifier: Apache-2.0
#include "deploy/edit.h"

#include <gtest/gtest.h>

#include "deploy/change.h"

namespace headroom::deploy {
namespace {

EditTarget unit() {
  return {FileKind::unit, "ml.service", "", ""};
}
EditTarget quadlet(std::string podman = "") {
  return {FileKind::quadlet, "ml.container", "", std::move(podman)};
}
EditTarget compose() {
  return {FileKind::compose, "compose.yaml", "ml", ""};
}

std::string edited(const EditTarget& target, std::string_view text, const TypedSet& set) {
  const auto result = edit_text(target, text, set);
  return result ? *result : "error: " + result.error().message;
}

TypedSet variable(const std::string& name, const std::string& value) {
  TypedSet set;
  set.environment[name] = value;
  return set;
}

constexpr std::string_view a_unit =
    "# keep me\n"
    "[Unit]\n"
    "Description=ML\n"
    "\n"
    "[Service]\n"
    "; and me\n"
    "Environment=A=1 \"B=two words\"\n"
    "ExecStart=/usr/bin/ml --port 3003 \\\n"
    "  # a comment between\n"
    "  --fast\n"
    "Restart=always\n"
    "\n"
    "[Install]\n"
    "WantedBy=multi-user.target\n";

TEST(UnitEdit, a_variable_is_replaced_in_its_place) {
  std::string wanted(a_unit);
  wanted.replace(wanted.find("\"B=two words\""), 13, "B=3");
  EXPECT_EQ(edited(unit(), a_unit, variable("B", "3")), wanted);
}

TEST(UnitEdit, a_new_variable_stands_behind_the_others) {
  std::string wanted(a_unit);
  wanted.insert(wanted.find("ExecStart"), "Environment=\"C=100%% of $HOME; \\\"x\\\"\"\n");
  EXPECT_EQ(edited(unit(), a_unit, variable("C", "100% of $HOME; \"x\"")), wanted);
}

TEST(UnitEdit, a_command_replaces_all_lines_of_the_old_one) {
  TypedSet set;
  set.command = {"/usr/bin/ml", "--name", "a b", "$X"};
  const std::string result = edited(unit(), a_unit, set);
  EXPECT_NE(result.find("ExecStart=/usr/bin/ml --name \"a b\" $$X\nRestart=always\n"),
            std::string::npos)
      << result;
  EXPECT_EQ(result.find("--fast"), std::string::npos);
}

TEST(UnitEdit, memory_devices_and_groups_end_the_section) {
  TypedSet set;
  set.memory = 8_GiB;
  set.devices = {"/dev/kfd", "/dev/dri"};
  set.groups = {"render"};
  std::string wanted(a_unit);
  wanted.insert(wanted.find("\n[Install]"),
                "DeviceAllow=/dev/kfd rw\nDeviceAllow=char-drm rw\nSupplementaryGroups=render\n"
                "MemoryMax=8G\n");
  EXPECT_EQ(edited(unit(), a_unit, set), wanted);
}

TEST(UnitEdit, what_an_empty_assignment_forgot_is_not_there) {
  const std::string text = "[Service]\nEnvironment=A=1\nEnvironment=\nMemoryMax=1G\nMemoryMax=\n";
  const auto settings = read_settings(unit(), text);
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->environment.empty());
  EXPECT_FALSE(settings->memory);
  const auto after = read_settings(unit(), edited(unit(), text, variable("A", "2")));
  ASSERT_TRUE(after);
  EXPECT_EQ(after->environment.at("A"), "2");
}

TEST(UnitEdit, line_ends_of_windows_stay) {
  EXPECT_EQ(edited(unit(), "[Service]\r\nMemoryMax=1G\r\n", variable("A", "1")),
            "[Service]\r\nMemoryMax=1G\r\nEnvironment=A=1\r\n");
}

TEST(UnitEdit, a_drop_in_gets_its_section_and_resets_the_command) {
  const EditTarget drop_in{FileKind::unit, "ml.service.d/gpu.conf", "", ""};
  TypedSet set;
  set.command = {"/bin/new"};
  EXPECT_EQ(edited(drop_in, "", set), "[Service]\nExecStart=\nExecStart=/bin/new\n");
}

TEST(UnitEdit, an_image_and_hidden_devices_are_refused) {
  TypedSet image;
  image.image = "x";
  EXPECT_EQ(edit_text(unit(), a_unit, image).error().code, Errc::unsupported);
  TypedSet devices;
  devices.devices = {"/dev/kfd"};
  const auto hidden = edit_text(unit(), "[Service]\nPrivateDevices=yes\n", devices);
  ASSERT_FALSE(hidden);
  EXPECT_NE(hidden.error().message.find("line 2"), std::string::npos);
}

TEST(QuadletEdit, image_devices_and_memory_go_where_podman_reads_them) {
  const std::string text =
      "[Container]\nImage=docker.io/ml:cpu\nAddDevice=/dev/dri\n\n[Service]\nRestart=always\n";
  TypedSet set;
  set.image = "docker.io/ml:rocm";
  set.devices = {"/dev/kfd", "/dev/dri"};
  set.memory = 6_GiB;
  EXPECT_EQ(edited(quadlet(), text, set),
            "[Container]\nImage=docker.io/ml:rocm\nAddDevice=/dev/dri\nAddDevice=/dev/kfd\n\n"
            "[Service]\nRestart=always\nMemoryMax=6G\n");
}

TEST(QuadletEdit, groups_are_arguments_where_the_key_is_not_known_to_be_there) {
  TypedSet set;
  set.groups = {"keep-groups"};
  EXPECT_EQ(edited(quadlet(), "[Container]\nImage=a\n", set),
            "[Container]\nImage=a\nPodmanArgs=--group-add=keep-groups\n");
  EXPECT_EQ(edited(quadlet("5.4.2"), "[Container]\nImage=a\n", set),
            "[Container]\nImage=a\nGroupAdd=keep-groups\n");
}

TEST(QuadletEdit, a_limit_among_the_arguments_is_changed_there) {
  TypedSet set;
  set.memory = 2_GiB;
  EXPECT_EQ(
      edited(quadlet(), "[Container]\nImage=a\nPodmanArgs=--cpus 2 --memory=1g --init\n", set),
      "[Container]\nImage=a\nPodmanArgs=--cpus 2 --memory=2g --init\n");
}

constexpr std::string_view a_compose =
    "# photos\n"
    "services:\n"
    "  db:\n"
    "    image: postgres\n"
    "  ml:\n"
    "    image: \"ml:cpu\"   # the old one\n"
    "    environment:\n"
    "      A: 1   # one\n"
    "      # nothing else yet\n"
    "    command:\n"
    "    - serve\n"
    "    - --port=3003\n"
    "    ports: [\"3003:3003\"]   # local\n"
    "volumes: {}\n";

TEST(ComposeEdit, single_values_change_and_nothing_else) {
  TypedSet set;
  set.image = "ghcr.io/ml:rocm";
  set.environment = {{"A", "2"}, {"B", "a $b"}};
  std::string wanted(a_compose);
  wanted.replace(wanted.find("\"ml:cpu\""), 8, "ghcr.io/ml:rocm");
  wanted.replace(wanted.find("A: 1"), 4, "A: \"2\"");
  wanted.insert(wanted.find("      # nothing"), "      B: \"a $$b\"\n");
  EXPECT_EQ(edited(compose(), a_compose, set), wanted);
}

TEST(ComposeEdit, an_image_keeps_its_variables) {
  TypedSet set;
  set.image = "ghcr.io/ml:${VERSION:-release}";
  EXPECT_NE(edited(compose(), a_compose, set).find("ghcr.io/ml:${VERSION:-release}"),
            std::string::npos);
}

TEST(ComposeEdit, what_is_not_there_is_added_to_the_service) {
  TypedSet set;
  set.devices = {"/dev/kfd", "/dev/dri"};
  set.groups = {"44"};
  set.memory = 8_GiB;
  std::string wanted(a_compose);
  wanted.insert(wanted.find("volumes:"),
                "    devices: [\"/dev/kfd\", \"/dev/dri\"]\n    group_add: [\"44\"]\n"
                "    mem_limit: \"8g\"\n");
  EXPECT_EQ(edited(compose(), a_compose, set), wanted);
}

TEST(ComposeEdit, a_command_in_a_block_becomes_one_line) {
  TypedSet set;
  set.command = {"serve", "--gpu"};
  const std::string result = edited(compose(), a_compose, set);
  EXPECT_NE(result.find("    command: [\"serve\", \"--gpu\"]\n    ports:"), std::string::npos)
      << result;
}

TEST(ComposeEdit, the_list_form_and_flow_style_are_kept) {
  const std::string text =
      "services:\n  ml: {image: ml, environment: [A=1, 'B=2', ], devices: [/dev/dri]}\n";
  TypedSet set = variable("A", "é");
  set.environment["C"] = "3";
  set.devices = {"/dev/kfd"};
  const std::string result = edited(compose(), text, set);
  EXPECT_EQ(
      result,
      "services:\n  ml: {image: ml, environment: [\"A=é\", 'B=2', \"C=3\"], devices: [/dev/dri, "
      "\"/dev/kfd\"]}\n");
}

TEST(ComposeEdit, places_are_bytes_also_behind_other_letters) {
  const std::string text = "# Über größe\nservices:\n  ml:\n    image: \"ä\"\n    x-ü: 'ß'\n";
  TypedSet set;
  set.image = "new";
  EXPECT_EQ(edited(compose(), text, set),
            "# Über größe\nservices:\n  ml:\n    image: new\n    x-ü: 'ß'\n");
}

TEST(ComposeEdit, a_limit_below_deploy_is_changed_there) {
  const std::string text =
      "services:\n  ml:\n    image: a\n    deploy:\n      resources:\n        limits:\n"
      "          memory: 4G   # was enough\n          cpus: '2'\n";
  TypedSet set;
  set.memory = 8_GiB;
  std::string wanted = text;
  wanted.replace(wanted.find("4G"), 2, "\"8g\"");
  EXPECT_EQ(edited(compose(), text, set), wanted);
}

TEST(ComposeEdit, what_others_share_is_refused) {
  const std::string shared =
      "services:\n  ml:\n    image: a\n    environment: &env\n      A: 1\n  web:\n    image: b\n"
      "    environment: *env\n";
  const auto anchor = edit_text(compose(), shared, variable("A", "2"));
  ASSERT_FALSE(anchor);
  EXPECT_EQ(anchor.error().code, Errc::unsupported);
  EXPECT_NE(anchor.error().message.find("line 4"), std::string::npos) << anchor.error().message;

  EditTarget web = compose();
  web.service = "web";
  EXPECT_EQ(edit_text(web, shared, variable("A", "2")).error().code, Errc::unsupported);

  const std::string merged =
      "x-base: &base\n  environment: {A: 1}\nservices:\n  ml:\n    <<: *base\n    image: a\n";
  EXPECT_EQ(edit_text(compose(), merged, variable("A", "2")).error().code, Errc::unsupported);
  TypedSet image;
  image.image = "b";
  EXPECT_TRUE(edit_text(compose(), merged, image));
}

TEST(ComposeEdit, what_is_no_such_file_is_refused_with_its_line) {
  TypedSet set;
  set.image = "b";
  const auto two = edit_text(compose(), "services: {ml: {image: a}}\n---\nb: 1\n", set);
  ASSERT_FALSE(two);
  EXPECT_NE(two.error().message.find("line 2"), std::string::npos) << two.error().message;
  EXPECT_FALSE(edit_text(compose(), "services: [", set));
  EXPECT_FALSE(edit_text(compose(), "services: {ml: {image: a, image: b}}", set));
  EXPECT_FALSE(edit_text(compose(), std::string(300, '['), set));
  EXPECT_FALSE(edit_text(compose(), "", set));
  const auto missing = edit_text(compose(), "services: {web: {image: a}}", set);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_NE(missing.error().message.find("web"), std::string::npos);
}

TEST(MakeChange, several_changes_of_one_file_are_one_edit) {
  ServiceSpec spec;
  spec.service.name = "ml";
  FileChange memory{"ml.service", std::nullopt, TypedSet{}};
  memory.set->memory = 1_GiB;
  const FileChange env{"ml.service", std::nullopt, variable("A", "1")};
  const std::string before = "[Service]\nExecStart=/bin/ml\n";
  const auto change = make_change(
      spec, {{memory, "/etc/ml.service", before, {}, ""}, {env, "/etc/ml.service", before, {}, ""}},
      {});
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->fix, "deploy-ml");
  ASSERT_EQ(change->steps.size(), 1U);
  const auto& edit = std::get<plan::FileEdit>(change->steps[0].action);
  EXPECT_EQ(edit.after, before + "MemoryMax=1G\nEnvironment=A=1\n");
}

TEST(MakeChange, nothing_to_change_is_said) {
  ServiceSpec spec;
  spec.service.name = "ml";
  const FileChange change{"a", "b", std::nullopt};
  EXPECT_FALSE(make_change(spec, {{change, "/a", "same", "same", ""}}, {}));
}

TEST(Settings, a_device_is_given_by_its_name_by_its_folder_and_where_it_is_optional) {
  Settings settings;
  settings.devices = {"-/dev/kfd", "/dev/dri/renderD128:/dev/dri/renderD128:rw"};
  EXPECT_TRUE(is_given(settings, "/dev/kfd"));
  EXPECT_TRUE(is_given(settings, "/dev/dri"));
  EXPECT_FALSE(is_given(settings, "/dev/dri/renderD129"));
  EXPECT_FALSE(is_given(settings, "/dev/kf"));
}

}  // namespace
}  // namespace headroom::deploy
