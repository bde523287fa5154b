// SPDX-License-Identifier: Apache-2.0
#include "machine/libarchive.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "machine/symbols.h"

namespace headroom::machine {
namespace {

Error not_there(const std::string& why) {
  return {Errc::unsupported,
          fmt::format("archives need libarchive, which cannot be used here ({})", why),
          "sudo apt install libarchive13   (Fedora: sudo dnf install libarchive; Arch: sudo pacman "
          "-S libarchive)"};
}

}  // namespace

Result<Libarchive> Libarchive::load(const std::string& name) {
  // Never closed: it may keep threads and buffers of its own.
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread.
    return not_there(why == nullptr ? name : why);
  }
  Libarchive it;
  Symbols symbols(library);
  symbols.find(it.error_string, "archive_error_string");
  symbols.find(it.error_number, "archive_errno");
  symbols.find(it.read_new, "archive_read_new");
  symbols.find(it.read_support_filter_gzip, "archive_read_support_filter_gzip");
  symbols.find(it.read_support_filter_xz, "archive_read_support_filter_xz");
  symbols.find(it.read_support_filter_zstd, "archive_read_support_filter_zstd");
  symbols.find(it.read_support_format_tar, "archive_read_support_format_tar");
  symbols.find(it.read_open_fd, "archive_read_open_fd");
  symbols.find(it.read_append_filter, "archive_read_append_filter");
  symbols.find(it.read_support_format_raw, "archive_read_support_format_raw");
  symbols.find(it.read_open, "archive_read_open");
  symbols.find(it.filter_bytes, "archive_filter_bytes");
  symbols.find(it.read_next_header, "archive_read_next_header");
  symbols.find(it.read_data, "archive_read_data");
  symbols.find(it.read_free, "archive_read_free");
  symbols.find(it.write_new, "archive_write_new");
  symbols.find(it.write_add_filter_zstd, "archive_write_add_filter_zstd");
  symbols.find(it.write_set_format_pax_restricted, "archive_write_set_format_pax_restricted");
  symbols.find(it.write_set_options, "archive_write_set_options");
  symbols.find(it.write_open_fd, "archive_write_open_fd");
  symbols.find(it.write_header, "archive_write_header");
  symbols.find(it.write_data, "archive_write_data");
  symbols.find(it.write_close, "archive_write_close");
  symbols.find(it.write_free, "archive_write_free");
  symbols.find(it.entry_new, "archive_entry_new");
  symbols.find(it.entry_free, "archive_entry_free");
  symbols.find(it.entry_pathname, "archive_entry_pathname");
  symbols.find(it.entry_symlink, "archive_entry_symlink");
  symbols.find(it.entry_hardlink, "archive_entry_hardlink");
  symbols.find(it.entry_filetype, "archive_entry_filetype");
  symbols.find(it.entry_size, "archive_entry_size");
  symbols.find(it.entry_set_pathname, "archive_entry_set_pathname");
  symbols.find(it.entry_set_symlink, "archive_entry_set_symlink");
  symbols.find(it.entry_set_filetype, "archive_entry_set_filetype");
  symbols.find(it.entry_set_perm, "archive_entry_set_perm");
  symbols.find(it.entry_set_size, "archive_entry_set_size");
  if (!symbols.missing().empty()) return not_there(name + " lacks " + symbols.missing());
  return it;
}

}  // namespace headroom::machine
