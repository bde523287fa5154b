// SPDX-License-Identifier: Apache-2.0
// Our reader of initramfs images as a program, for tests that run real tools:
//   initramfs_reader list ROOT IMAGE            every name in it
//   initramfs_reader read ROOT IMAGE NAME       a file's bytes; exit 1: not in it
//   initramfs_reader expect ROOT IMAGE PATH     whether it holds ROOT's file PATH; exit 1: not so
// ROOT is a scratch root. Exit 2: an error, said on stderr.
#include <cstdio>
#include <string>
#include <vector>

#include "machine/initramfs_image.h"

namespace {

using namespace headroom;

int fail(const Error& error, int status = 2) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return status;
}

int list(const machine::WritableFiles& files, const std::string& image) {
  const auto names = machine::list_initramfs(files, image);
  if (!names) return fail(names.error());
  for (const std::string& name : *names) std::printf("%s\n", name.c_str());
  return 0;
}

int read(const machine::WritableFiles& files, const std::string& image, const std::string& name) {
  const auto bytes = machine::read_from_initramfs(files, image, name);
  if (!bytes) return fail(bytes.error());
  if (!*bytes) return 1;
  std::fwrite((*bytes)->data(), 1, (*bytes)->size(), stdout);
  return 0;
}

int expect(const machine::WritableFiles& files, const std::string& image, const std::string& path) {
  const auto status = machine::expect_in_image(files, image, path);
  if (status) return 0;
  const bool answered = status.error().message.starts_with("expected " + image + " to hold");
  return fail(status.error(), answered ? 1 : 2);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 3) return fail({Errc::invalid, "initramfs_reader list|read|expect …", ""});
  const auto files = machine::WritableFiles::open(words[1]);
  if (!files) return fail(files.error());
  if (words[0] == "list") return list(*files, words[2]);
  if (words.size() < 4) return fail({Errc::invalid, "initramfs_reader read|expect … NAME", ""});
  return words[0] == "read" ? read(*files, words[2], words[3]) : expect(*files, words[2], words[3]);
}
