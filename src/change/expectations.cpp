// SPDX-License-Identifier: Apache-2.0
#include "change/expectations.h"

#include <fmt/format.h>

#include "machine/initramfs_image.h"

namespace headroom::change {
namespace {

using plan::Expectation;

Status check_text(const machine::WritableFiles& files, const Expectation& expectation) {
  const bool wanted = expectation.kind == Expectation::Kind::file_contains;
  HEADROOM_TRY(const auto paths, files.match(expectation.path));
  if (paths.empty() && wanted) {
    return Error{Errc::invalid,
                 fmt::format("expected {} to hold \"{}\", found no such file", expectation.path,
                             expectation.text),
                 ""};
  }
  for (const std::string& path : paths) {
    HEADROOM_TRY(const std::string text, files.read(path));
    const bool holds = text.find(expectation.text) != std::string::npos;
    if (holds == wanted) continue;
    return Error{
        Errc::invalid,
        fmt::format("expected {} {} \"{}\", found it {}", path, wanted ? "to hold" : "to be rid of",
                    expectation.text, wanted ? "missing" : "still there"),
        ""};
  }
  return Done{};
}

Status check_image(const machine::WritableFiles& files, const Expectation& expectation) {
  HEADROOM_TRY(const auto held,
               machine::read_from_initramfs(files, expectation.path, expectation.text));
  if (!held) {
    return Error{Errc::invalid,
                 fmt::format("expected the initramfs {} to hold {}, found that it does not",
                             expectation.path, expectation.text),
                 ""};
  }
  HEADROOM_TRY(const std::string bytes, files.read(expectation.text));
  if (*held == bytes) return Done{};
  return Error{Errc::invalid,
               fmt::format("expected the initramfs {} to hold {} as it is now, found an older one",
                           expectation.path, expectation.text),
               ""};
}

}  // namespace

Status check(const machine::WritableFiles& files, const Expectation& expectation) {
  if (expectation.kind == Expectation::Kind::image_holds) return check_image(files, expectation);
  return check_text(files, expectation);
}

}  // namespace headroom::change
