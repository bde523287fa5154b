// SPDX-License-Identifier: Apache-2.0
// That the functions are declared as libarchive declares them, where its headers are there to tell.
#include "machine/libarchive.h"

#include <gtest/gtest.h>

#if __has_include(<archive.h>)
#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <type_traits>

namespace headroom::machine {
namespace {

template <class Ours, class Theirs>
constexpr bool same = std::is_same_v<Ours, Theirs*>;

static_assert(Libarchive::end == ARCHIVE_EOF && Libarchive::ok == ARCHIVE_OK);
static_assert(Libarchive::warn == ARCHIVE_WARN && ARCHIVE_FAILED < ARCHIVE_WARN);
static_assert(S_IFREG == AE_IFREG && S_IFDIR == AE_IFDIR && S_IFLNK == AE_IFLNK);
using It = Libarchive;
static_assert(same<decltype(It::error_string), decltype(archive_error_string)>);
static_assert(same<decltype(It::error_number), decltype(archive_errno)>);
static_assert(same<decltype(It::read_new), decltype(archive_read_new)>);
static_assert(
    same<decltype(It::read_support_filter_gzip), decltype(archive_read_support_filter_gzip)>);
static_assert(same<decltype(It::read_support_filter_xz), decltype(archive_read_support_filter_xz)>);
static_assert(
    same<decltype(It::read_support_filter_zstd), decltype(archive_read_support_filter_zstd)>);
static_assert(
    same<decltype(It::read_support_format_tar), decltype(archive_read_support_format_tar)>);
static_assert(same<decltype(It::read_open_fd), decltype(archive_read_open_fd)>);
static_assert(same<decltype(It::read_append_filter), decltype(archive_read_append_filter)>);
static_assert(
    same<decltype(It::read_support_format_raw), decltype(archive_read_support_format_raw)>);
static_assert(same<decltype(It::read_open), decltype(archive_read_open)>);
static_assert(same<decltype(It::filter_bytes), decltype(archive_filter_bytes)>);
static_assert(same<decltype(It::read_next_header), decltype(archive_read_next_header)>);
static_assert(same<decltype(It::read_data), decltype(archive_read_data)>);
static_assert(same<decltype(It::read_free), decltype(archive_read_free)>);
static_assert(same<decltype(It::write_new), decltype(archive_write_new)>);
static_assert(same<decltype(It::write_add_filter_zstd), decltype(archive_write_add_filter_zstd)>);
static_assert(same<decltype(It::write_set_format_pax_restricted),
                   decltype(archive_write_set_format_pax_restricted)>);
static_assert(same<decltype(It::write_set_options), decltype(archive_write_set_options)>);
static_assert(same<decltype(It::write_open_fd), decltype(archive_write_open_fd)>);
static_assert(same<decltype(It::write_header), decltype(archive_write_header)>);
static_assert(same<decltype(It::write_data), decltype(archive_write_data)>);
static_assert(same<decltype(It::write_close), decltype(archive_write_close)>);
static_assert(same<decltype(It::write_free), decltype(archive_write_free)>);
static_assert(same<decltype(It::entry_new), decltype(archive_entry_new)>);
static_assert(same<decltype(It::entry_free), decltype(archive_entry_free)>);
static_assert(same<decltype(It::entry_pathname), decltype(archive_entry_pathname)>);
static_assert(same<decltype(It::entry_symlink), decltype(archive_entry_symlink)>);
static_assert(same<decltype(It::entry_hardlink), decltype(archive_entry_hardlink)>);
static_assert(same<decltype(It::entry_filetype), decltype(archive_entry_filetype)>);
static_assert(same<decltype(It::entry_size), decltype(archive_entry_size)>);
static_assert(same<decltype(It::entry_set_pathname), decltype(archive_entry_set_pathname)>);
static_assert(same<decltype(It::entry_set_symlink), decltype(archive_entry_set_symlink)>);
static_assert(same<decltype(It::entry_set_filetype), decltype(archive_entry_set_filetype)>);
static_assert(same<decltype(It::entry_set_perm), decltype(archive_entry_set_perm)>);
static_assert(same<decltype(It::entry_set_size), decltype(archive_entry_set_size)>);

}  // namespace
}  // namespace headroom::machine
#endif

namespace headroom::machine {
namespace {

TEST(Libarchive, where_it_is_not_installed_the_command_that_installs_it_is_named) {
  const auto library = Libarchive::load("libarchive.so.that-is-not-there");
  ASSERT_FALSE(library.has_value());
  EXPECT_EQ(library.error().code, Errc::unsupported);
  EXPECT_NE(library.error().message.find("libarchive.so.that-is-not-there"), std::string::npos);
  EXPECT_NE(library.error().next.find("sudo apt install libarchive13"), std::string::npos);
}

TEST(Libarchive, another_library_is_not_taken_for_it) {
  const auto library = Libarchive::load("libm.so.6");
  ASSERT_FALSE(library.has_value());
  EXPECT_NE(library.error().message.find("archive_error_string"), std::string::npos);
}

}  // namespace
}  // namespace headroom::machine
