// SPDX-License-Identifier: Apache-2.0
// Packages without all of their parts, builds from another index, runtimes of another release, by
// what pip, the loader and Python say. Each has a neighbour with the same words in another role.
#include <gmock/gmock.h>

#include <string>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view amd = R"({"vendor": "AMD"})";
constexpr std::string_view card_on_windows =
    R"({"vendor": "AMD", "gpu": "RX 7800 XT", "gfx": "gfx1101", "distro": "Windows 11"})";

// ------------------------------------------------------------------ wrong-wheel

std::string installed_from(std::string_view index) {
  return "pip3 install --pre torch torchvision --extra-index-url " + std::string(index) +
         "\nThe import works, but torch.cuda.is_available() returns False.\n";
}

TEST(IndexBesidePypi, that_does_not_exist_gives_pypis_build) {
  const auto found =
      diagnose(installed_from("https://download.pytorch.org/whl/nightly/rocm5.7.1"), amd);
  EXPECT_EQ(found.cause.id, "wrong-wheel");
  EXPECT_THAT(found.cause.title, HasSubstr("5.7.1"));
  EXPECT_GT(found.cause.confidence,
            diagnose(installed_from("https://download.pytorch.org/whl/nightly/rocm5.7"), amd)
                .cause.confidence);
}

TEST(IndexBesidePypi, is_no_reason_where_the_build_is_shown) {
  const auto found = diagnose(installed_from("https://download.pytorch.org/whl/nightly/rocm5.7") +
                                  "Successfully installed torch-2.3.0.dev20240101+rocm5.7\n",
                              amd);
  EXPECT_NE(found.cause.id, "wrong-wheel");
}

// ------------------------------------------------------------------ missing-library

std::string import_of_part(std::string_view file, std::string_view module) {
  return "Traceback (most recent call last):\n"
         "  File \"" +
         std::string(file) +
         "\", line 31, in <module>\n"
         "    from ._tools import helper\n"
         "ModuleNotFoundError: No module named '" +
         std::string(module) + "'\n";
}

TEST(Package, that_misses_its_own_part_was_installed_in_part) {
  const auto found = diagnose(
      import_of_part("/opt/venv/lib/python3.12/site-packages/torch/__init__.py", "torch._tools") +
          "I had upgraded ROCm 6.3 to 6.4 before. Installing it with sudo works.\n",
      amd);
  EXPECT_EQ(found.cause.id, "missing-library");
  EXPECT_THAT(found.cause.title, HasSubstr("torch is incomplete"));
}

TEST(Package, whose_part_another_program_asks_for_may_be_of_another_release) {
  const auto found = diagnose(import_of_part("/srv/job/train.py", "torch.newer_part"), amd);
  EXPECT_THAT(found.cause.title, Not(HasSubstr("incomplete")));
}

TEST(SilentEnd, on_windows_is_a_dll_that_is_missing) {
  const auto found =
      diagnose("llama-server just exits with no output whatever I type\n", card_on_windows);
  EXPECT_EQ(found.cause.id, "missing-library");
  EXPECT_LE(found.cause.confidence, 0.8);
}

TEST(SilentEnd, elsewhere_or_after_work_is_not) {
  const std::string said = "llama-server just exits with no output whatever I type\n";
  EXPECT_NE(diagnose(said, amd).cause.id, "missing-library");
  EXPECT_NE(diagnose("{'loss': 2.1, 'epoch': 0.1}\n" + said, card_on_windows).cause.id,
            "missing-library");
}

// ------------------------------------------------------------------ rocm-version-mismatch

constexpr std::string_view needs_smi =
    "ImportError: librocm_smi64.so.6: cannot open shared object file: No such file or directory\n";

TEST(Soname, of_an_earlier_minor_release_shows_another_rocm) {
  EXPECT_EQ(diagnose(needs_smi, R"({"vendor": "AMD", "rocm": "6.2.4"})").cause.id,
            "rocm-version-mismatch");
}

TEST(Soname, of_the_release_itself_is_missing) {
  EXPECT_EQ(diagnose(needs_smi, R"({"vendor": "AMD", "rocm": "6.0.2"})").cause.id,
            "missing-library");
}

TEST(OlderRuntime, refuses_a_device_with_two_instruction_sets) {
  const auto found = diagnose(
      ":1:rocdevice.cpp :590 : HSA device gfx1200 (PCI ID 7590) has 2 ISAs but can only support a "
      "single ISA\nfree(): invalid pointer\nAborted (core dumped)\n",
      amd);
  EXPECT_EQ(found.cause.id, "rocm-version-mismatch");
}

constexpr std::string_view loads_by_name =
    "The copies are wrong. I load the libraries by name:\n    \"amdhip64.dll\",\n";

TEST(OlderRuntime, is_loaded_on_windows_by_its_plain_name) {
  const auto with = [](std::string_view rocm, std::string_view system) {
    return diagnose(loads_by_name, std::string(R"({"vendor": "AMD", "rocm": ")") +
                                       std::string(rocm) + R"(", "distro": ")" +
                                       std::string(system) + "\"}");
  };
  EXPECT_EQ(with("HIP SDK 6.2.4", "Windows 11").cause.id, "rocm-version-mismatch");
  EXPECT_NE(with("HIP SDK 5.7.1", "Windows 11").cause.id, "rocm-version-mismatch");
}

// ------------------------------------------------------------------ torchao-incompatible

constexpr std::string_view no_distributed =
    "ModuleNotFoundError: No module named 'torch._C._distributed_c10d'; 'torch._C' is not a "
    "package\n";

TEST(Added, torchao_that_breaks_an_import_is_the_reason) {
  const auto found = diagnose(
      "Without it the import works. When I install `torchao` the script fails with this error:\n" +
          std::string(no_distributed),
      card_on_windows);
  EXPECT_EQ(found.cause.id, "torchao-incompatible");
}

TEST(Added, torchao_that_mends_it_or_another_package_is_not) {
  for (const std::string told :
       {"Once I install torchao it no longer fails.\n", "When I install peft it fails.\n"}) {
    EXPECT_NE(diagnose(told + std::string(no_distributed), card_on_windows).cause.id,
              "torchao-incompatible")
        << told;
  }
}

}  // namespace
}  // namespace headroom::findings
