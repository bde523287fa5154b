// SPDX-License-Identifier: Apache-2.0
#include "cli/record_output.h"

#include <fmt/format.h>

#include <array>

namespace headroom::cli {
namespace {

constexpr std::string_view archive_ending = ".tar.zst";

// "box.tar.zst" → "box-2.tar.zst".
std::string another_name(const std::string& output) {
  if (!output.ends_with(archive_ending)) return output + "-2";
  const std::string stem = output.substr(0, output.size() - archive_ending.size());
  return fmt::format("{}-2{}", stem, archive_ending);
}

}  // namespace

bool is_archive_name(const std::string& output) {
  return output.ends_with(archive_ending);
}

Status check_record_name(const std::string& output, std::string_view command) {
  static constexpr std::array endings{".zip", ".tar", ".tgz", ".gz", ".xz", ".zst", ".7z", ".bz2"};
  for (const char* ending : endings) {
    if (!output.ends_with(ending) || output.ends_with(archive_ending)) continue;
    const std::string stem = output.substr(0, output.find('.', output.rfind('/') + 1));
    return Error{Errc::invalid,
                 fmt::format("expected a folder or a name that ends in {}, found {}",
                             archive_ending, output),
                 fmt::format("headroom {} {}{}", command, stem, archive_ending)};
  }
  if (!machine::is_occupied(output)) return Done{};
  return Error{Errc::invalid,
               fmt::format("{} already exists, and headroom does not overwrite it", output),
               fmt::format("headroom {} {}", command, another_name(output))};
}

Result<std::unique_ptr<machine::TreeWriter>> make_record_writer(const std::string& output) {
  auto writer = is_archive_name(output) ? machine::make_archive_writer(output)
                                        : machine::make_folder_writer(output);
  if (writer || writer.error().code != Errc::not_found) return writer;
  Error error = std::move(writer).error();
  error.next = "mkdir -p " + output.substr(0, output.rfind('/'));
  return error;
}

}  // namespace headroom::cli
