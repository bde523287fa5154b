// SPDX-License-Identifier: Apache-2.0
#include "support/distribution.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/document.h"
#include "machine/user_files.h"
#include "support/fake_machine.h"
#include "support/scratch_root.h"
#include "support/simulated_boot.h"
#include "support/test_machines.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
  return fs::path(HEADROOM_SOURCE_DIR) / "tests/distributions";
}

std::string replace_all(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
    at += by.size();
  }
  return text;
}

class Layout {
 public:
  Layout(Json description, fs::path root)
      : description_(std::move(description)), root_(std::move(root)) {}

  Status lay_out() {
    fs::create_directories(root_);
    HEADROOM_CHECK(expand());
    mark_as_scratch_root(root_);
    write_kernels();
    write("etc/passwd",
          "root:x:0:0:root:/root:/bin/bash\nanna:x:1000:1000:Anna:/home/anna:/bin/bash\n");
    write("etc/group", "root:x:0:\nvideo:x:44:\nrender:x:992:\nanna:x:1000:\n");
    write("etc/machine-id", "5f1c0a4e9d3b4c6f8a7e2b1d0c9f8e7a\n");
    for (const Json& made : list("folders")) {
      fs::create_directories(root_ / made.get<std::string>());
    }
    for (const auto& [path, text] : object("file")) write(path, text.get<std::string>());
    for (const auto& [path, target] : object("link")) link(path, target.get<std::string>());
    HEADROOM_CHECK(copy_programs());
    for (const Json& command : list("first")) HEADROOM_CHECK(run(command.get<std::string>()));
    for (const auto& [path, mode] : object("mode")) {
      fs::permissions(root_ / path, static_cast<fs::perms>(mode.get<unsigned>()));
    }
    HEADROOM_CHECK(simulate_boot(root_));
    return Done{};
  }

 private:
  std::map<std::string, Json> object(const std::string& key) const {
    return description_.value(key, Json::object()).get<std::map<std::string, Json>>();
  }
  std::vector<Json> list(const std::string& key) const {
    return description_.value(key, Json::array()).get<std::vector<Json>>();
  }

  // The GPU and the memory around it, of tests/machines; what the boot makes is left to the boot.
  Status expand() const {
    Document machine = read_description(description_.at("machine").get<std::string>());
    for (const char* key : {"cmdline", "kernel", "gttsize"}) machine.value.erase(key);
    machine.value["os"] = description_.at("os");
    return expand_machine(machine, root_.string());
  }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  void link(const std::string& path, const std::string& target) const {
    fs::create_directories((root_ / path).parent_path());
    fs::create_symlink(target, root_ / path);
  }

  // {V} in a path or a text stands for the version of each kernel.
  void write_kernels() const {
    for (const Json& kernel : list("kernels")) {
      const std::string version = kernel.get<std::string>();
      for (const auto& [path, text] : object("of_each_kernel")) {
        write(replace_all(path, "{V}", version),
              replace_all(text.get<std::string>(), "{V}", version));
      }
    }
  }

  Status copy_programs() const {
    for (const auto& [where, names] : object("programs")) {
      for (const Json& name : names) {
        HEADROOM_CHECK(copy_program(name.get<std::string>(), where));
      }
    }
    HEADROOM_TRY(const std::string words,
                 machine::read_file((folder() / "programs/words.sh").string()));
    write(".fake/words.sh", words);
    return Done{};
  }

  // "grub2-mkconfig" is what Fedora and openSUSE call grub-mkconfig.
  Status copy_program(const std::string& name, const std::string& where) const {
    const bool renamed = name.starts_with("grub2-");
    const std::string source = renamed ? "grub-" + name.substr(6) : name;
    HEADROOM_TRY(std::string text, machine::read_file((folder() / "programs" / source).string()));
    if (renamed) text = replace_all(text, source, name);
    const std::string path = where + "/" + name;
    write(path, replace_all(text, "@FAKE_INITRAMFS@", HEADROOM_FAKE_INITRAMFS));
    fs::permissions(root_ / path, static_cast<fs::perms>(0755));
    return Done{};
  }

  Status run(const std::string& command) const {
    const std::string log = (root_ / ".fake/first.log").string();
    const std::string line = fmt::format(
        "export ROOT='{0}'; PATH=\"$ROOT/usr/sbin:$ROOT/usr/bin:/usr/bin:/bin\"; {1} >>'{2}' 2>&1",
        root_.string(), replace_all(command, "@FAKE_INITRAMFS@", HEADROOM_FAKE_INITRAMFS), log);
    if (std::system(line.c_str()) == 0) return Done{};  // NOLINT(concurrency-mt-unsafe)
    const auto said = machine::read_file(log);
    return Error{Errc::invalid, fmt::format("{} failed: {}", command, said ? *said : ""), ""};
  }

  Json description_;
  fs::path root_;
};

}  // namespace

std::vector<std::string> distribution_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status lay_out_distribution(const std::string& name, const fs::path& root) {
  HEADROOM_TRY(const std::string text, machine::read_file((folder() / (name + ".toml")).string()));
  HEADROOM_TRY(Document description, parse_toml(text));
  // The JSON library throws on a value of the wrong kind: a mistake in the description.
  try {
    return Layout(std::move(description.value), fs::absolute(root)).lay_out();
  } catch (const std::exception& mistake) {
    return Error{Errc::invalid, fmt::format("{}.toml: {}", name, mistake.what()), ""};
  }
}

void make_distribution(const std::string& name, const fs::path& root) {
  const auto made = lay_out_distribution(name, root);
  ASSERT_TRUE(made.has_value()) << name << ": " << made.error().message;
}

}  // namespace headroom::testing
