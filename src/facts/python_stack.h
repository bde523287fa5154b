// SPDX-License-Identifier: Apache-2.0
// The Python that jobs here would run on, and the packages in it that decide whether they can use
// the GPU, all read from files: nothing is imported and nothing is run. Parsers are text → value
// and pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/text_facts.h"

namespace headroom::facts {

// pyvenv.cfg (PEP 405; virtualenv and uv write version_info for version).
struct VirtualEnvironment {
  Text home;     // The folder of the interpreter it was made from.
  Text version;  // "3.12.3".
  bool system_packages = false;
};
VirtualEnvironment parse_pyvenv(const Text& text);

// A folder NAME-VERSION.dist-info or a NAME-VERSION….egg-info, by its name.
struct Package {
  std::string name;  // Normalised as PEP 503 says: lower case, "-" between the words.
  std::string version;
  std::string path;
};
std::optional<Package> parse_package_folder(std::string_view name);

// "3.12" of "python3.12"; nothing for "python3".
std::optional<std::string> parse_interpreter_name(std::string_view name);

enum class TorchKind { rocm, cuda, cpu };
std::string_view to_string(TorchKind kind);

struct Torch {
  Text version;  // "2.4.1+rocm6.0".
  Text hip;      // "6.0.32830-d62f6a171"; not_present in a build for something else.
  Text cuda;     // "12.1"; likewise.
  Text rocm;     // "6.0", of the version's tag, else of `hip`.
  Fact<TorchKind> kind;
  Fact<std::vector<std::string>> targets;  // What its libraries hold code for: gfx names, sorted.
  // The families that it ships fused attention kernels for, as AOTriton names them ("gfx11xx").
  Fact<std::vector<std::string>> attention;
  Fact<bool> own_rocm;  // It brings its own ROCm libraries; without, the system's are loaded.
};
// torch/version.py, which torch writes when it is built.
Torch parse_torch_version(const Text& text);

// The targets that file names tell of ("TensileLibrary_lazy_gfx90a.dat", "torch_gfx1201.kpack",
// "Kernels.so-000-gfx906-xnack-.hsaco", or a folder "gfx942"), each once and sorted. Tuning
// databases and the like name targets that there is no code for, so only code objects and their
// indices count.
std::vector<std::string> find_targets(const std::vector<std::string>& names);

// Whether code for `targets` runs on `gfx`: for itself, or for a generic target that contains it
// (ROCr, isa.cpp).
bool carries(const std::vector<std::string>& targets, std::string_view gfx);

// A ROCm of the system that an entry of LD_LIBRARY_PATH leads to.
struct SystemRocm {
  std::string folder;
  Text version;
};

struct PythonStack {
  Text interpreter;    // The executable, as it was found.
  Text version;        // "3.12" or "3.12.3".
  Text prefix;         // The virtual environment's folder, or that of the installation.
  bool named = false;  // By --python; else it was looked for.
  std::vector<std::string> folders;  // Of packages, in the order of sys.path.
  std::string torch_folder;          // Empty: no torch.
  Torch torch;
  std::vector<Package> packages;
  std::vector<SystemRocm> preferred;  // By LD_LIBRARY_PATH, before what packages bring.
};

// The packages that matter to jobs on a GPU.
bool is_of_interest(std::string_view package);

}  // namespace headroom::facts
