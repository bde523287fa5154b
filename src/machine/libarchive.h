// SPDX-License-Identifier: Apache-2.0
// libarchive, opened at run time: only who reads or writes an archive needs it, and `check` starts
// without it. The few functions used, as archive.h and archive_entry.h of libarchive 3 declare them
// (shared object version 13 since 2011; libarchive_test.cpp holds them against the headers where
// those are installed).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

struct archive;
struct archive_entry;

namespace headroom::machine {

struct Libarchive {
  // What functions return, beside counts. Below `warn` nothing was done.
  static constexpr int end = 1;
  static constexpr int ok = 0;
  static constexpr int warn = -20;

  // Fails with unsupported, and the command that installs it.
  static Result<Libarchive> load(const std::string& name = "libarchive.so.13");

  const char* (*error_string)(archive*) = nullptr;
  int (*error_number)(archive*) = nullptr;

  archive* (*read_new)() = nullptr;
  int (*read_support_filter_gzip)(archive*) = nullptr;
  int (*read_support_filter_xz)(archive*) = nullptr;
  int (*read_support_filter_zstd)(archive*) = nullptr;
  int (*read_support_format_tar)(archive*) = nullptr;
  int (*read_open_fd)(archive*, int, std::size_t) = nullptr;
  // One compression and no other, whatever the bytes look like.
  int (*read_append_filter)(archive*, int) = nullptr;
  // What a filter yields, as the data of one entry.
  int (*read_support_format_raw)(archive*) = nullptr;
  // Data, what opens, what gives the next block (0 bytes: the end; -1: it failed), what closes.
  int (*read_open)(archive*, void*, int (*)(archive*, void*),
                   ssize_t (*)(archive*, void*, const void**), int (*)(archive*, void*)) = nullptr;
  // Bytes that passed a filter; -1: of what was given to the first one, how much it used.
  std::int64_t (*filter_bytes)(archive*, int) = nullptr;
  int (*read_next_header)(archive*, archive_entry**) = nullptr;
  ssize_t (*read_data)(archive*, void*, std::size_t) = nullptr;
  int (*read_free)(archive*) = nullptr;

  archive* (*write_new)() = nullptr;
  int (*write_add_filter_zstd)(archive*) = nullptr;
  int (*write_set_format_pax_restricted)(archive*) = nullptr;
  int (*write_set_options)(archive*, const char*) = nullptr;
  int (*write_open_fd)(archive*, int) = nullptr;
  int (*write_header)(archive*, archive_entry*) = nullptr;
  ssize_t (*write_data)(archive*, const void*, std::size_t) = nullptr;
  int (*write_close)(archive*) = nullptr;
  int (*write_free)(archive*) = nullptr;

  archive_entry* (*entry_new)() = nullptr;
  void (*entry_free)(archive_entry*) = nullptr;
  const char* (*entry_pathname)(archive_entry*) = nullptr;
  const char* (*entry_symlink)(archive_entry*) = nullptr;
  const char* (*entry_hardlink)(archive_entry*) = nullptr;
  mode_t (*entry_filetype)(archive_entry*) = nullptr;
  std::int64_t (*entry_size)(archive_entry*) = nullptr;
  void (*entry_set_pathname)(archive_entry*, const char*) = nullptr;
  void (*entry_set_symlink)(archive_entry*, const char*) = nullptr;
  void (*entry_set_filetype)(archive_entry*, unsigned int) = nullptr;
  void (*entry_set_perm)(archive_entry*, mode_t) = nullptr;
  void (*entry_set_size)(archive_entry*, std::int64_t) = nullptr;
};

}  // namespace headroom::machine
