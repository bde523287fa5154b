// SPDX-License-Identifier: Apache-2.0
#include "facts/python_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Text text(std::string words) {
  return {std::move(words), Source{"/file", 0, ""}};
}

TEST(Torch, a_build_for_rocm_says_its_hip) {
  const Torch torch = parse_torch_version(
      text("from typing import Optional\n\n__all__ = ['__version__', 'hip']\n"
           "__version__ = '2.4.1+rocm6.0'\ndebug = False\ncuda: Optional[str] = None\n"
           "hip: Optional[str] = '6.0.32830-d62f6a171'\n"));
  EXPECT_EQ(*torch.version, "2.4.1+rocm6.0");
  EXPECT_EQ(torch.version.source().line, 4);
  EXPECT_EQ(*torch.kind, TorchKind::rocm);
  EXPECT_EQ(*torch.rocm, "6.0");
  EXPECT_EQ(torch.cuda.missing().why, Why::not_present);
}

TEST(Torch, old_files_have_no_annotations) {
  const Torch torch = parse_torch_version(
      text("__version__ = '1.10.1+rocm4.0.1'\ndebug = False\ncuda = None\nhip = '4.0.20496'\n"));
  EXPECT_EQ(*torch.kind, TorchKind::rocm);
  EXPECT_EQ(*torch.rocm, "4.0");
}

TEST(Torch, without_a_tag_hip_tells_the_rocm) {
  const Torch torch =
      parse_torch_version(text("__version__ = '2.9.0a0+git1'\ncuda = None\nhip = '7.1.25424'\n"));
  EXPECT_EQ(*torch.rocm, "7.1");
}

TEST(Torch, builds_for_cuda_and_for_the_cpu_are_told_apart) {
  EXPECT_EQ(
      *parse_torch_version(text("__version__ = \"2.6.0+cu124\"\ncuda = '12.4'\nhip = None\n")).kind,
      TorchKind::cuda);
  EXPECT_EQ(*parse_torch_version(text("__version__ = '2.6.0'\ncuda = None\nhip = None\n")).kind,
            TorchKind::cpu);
}

TEST(Torch, half_a_file_is_no_cpu_build) {
  EXPECT_FALSE(parse_torch_version(text("__version__ = '2.6.0'\ncuda = N")).kind);
  EXPECT_FALSE(parse_torch_version(text("")).kind);
  EXPECT_FALSE(parse_torch_version(Text{}).kind);
}

TEST(Targets, code_objects_and_their_indices_name_them) {
  EXPECT_THAT(find_targets({"TensileLibrary_lazy_gfx90a.dat", "TensileLibrary_lazy_gfx1100.dat",
                            "TensileLibrary_Type_HH_fallback_gfx1100.hsaco",
                            "Kernels.so-000-gfx906-xnack-.hsaco", "torch_gfx1201.kpack",
                            "TensileLibrary_gfx942.dat.zlib", "gfx950"}),
              ElementsAre("gfx906", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"));
}

TEST(Targets, tuning_databases_and_families_are_no_code) {
  EXPECT_THAT(find_targets({"gfx900_56.db.txt", "amd-gfx11xx", "gfx110X", "libgfx.so", "gfx.dat",
                            "TensileLibrary.dat"}),
              IsEmpty());
}

TEST(Targets, generic_code_runs_on_its_members) {
  const auto targets = find_targets({"Kernels.so-000-gfx10-3-generic.hsaco", "x_gfx11-generic.co"});
  EXPECT_THAT(targets, ElementsAre("gfx11-generic", "gfx10-3-generic"));
  EXPECT_TRUE(carries(targets, "gfx1031"));
  EXPECT_TRUE(carries(targets, "gfx1151"));
  EXPECT_FALSE(carries(targets, "gfx1010"));
  EXPECT_TRUE(carries({"gfx906"}, "gfx906"));
  EXPECT_FALSE(carries({"gfx906"}, "gfx90a"));
  EXPECT_FALSE(carries({"gfx9-generic"}, ""));
}

TEST(Packages, folders_name_them_and_their_version) {
  const auto wheel = parse_package_folder("llama_cpp_python-0.3.2.dist-info");
  ASSERT_TRUE(wheel);
  EXPECT_EQ(wheel->name, "llama-cpp-python");
  EXPECT_EQ(wheel->version, "0.3.2");
  EXPECT_EQ(parse_package_folder("torch-2.4.1+rocm6.0.dist-info")->version, "2.4.1+rocm6.0");
  EXPECT_EQ(parse_package_folder("peft-0.4.0-py3.11.egg-info")->version, "0.4.0");
  for (const char* other :
       {"torch", "-1.dist-info", "torch-.dist-info", ".dist-info", "a-b.dist-info"})
    EXPECT_FALSE(parse_package_folder(other)) << other;
}

TEST(Python, virtual_environments_say_their_home) {
  const auto venv = parse_pyvenv(
      text("home = /usr/bin\ninclude-system-site-packages = true\nversion = 3.12.3\n"));
  EXPECT_EQ(*venv.home, "/usr/bin");
  EXPECT_EQ(*venv.version, "3.12.3");
  EXPECT_TRUE(venv.system_packages);
  const auto uv =
      parse_pyvenv(text("home = /x\nimplementation = CPython\nversion_info = 3.13.1\n"));
  EXPECT_EQ(*uv.version, "3.13.1");
  EXPECT_FALSE(uv.system_packages);
  EXPECT_FALSE(parse_pyvenv(text("home\nversion : 3\n")).home);
}

TEST(Python, an_interpreters_name_may_say_its_version) {
  EXPECT_EQ(parse_interpreter_name("python3.12"), "3.12");
  for (const char* other : {"python3", "python", "python3.x", "perl5.36", "python3.12-config"})
    EXPECT_FALSE(parse_interpreter_name(other)) << other;
}

}  // namespace
}  // namespace headroom::facts
