// SPDX-License-Identifier: Apache-2.0
#include "service/places.h"

#include <fmt/format.h>

#include "machine/private_folders.h"

namespace headroom::service {
namespace {

constexpr std::size_t longest_file = std::size_t{16} << 20U;
// It holds an answer of the service, of at most 16 MiB, in which a byte may take six.
constexpr std::size_t longest_record = std::size_t{256} << 20U;

// For whoever owns the folder alone: answers of a service may be nobody else's business.
FileAttributes for_owner_of(const FileEntry& folder) {
  FileAttributes attributes;
  attributes.mode = 0600;
  attributes.uid = folder.attributes.uid;
  attributes.gid = folder.attributes.gid;
  return attributes;
}

}  // namespace

Places::Places(machine::WritableFiles& files, std::string state, const std::string& service)
    : files_(files), state_(std::move(state)), folder_(state_ + "/deploy/" + service) {}

Status Places::make() const {
  return machine::make_private_folders_above(folder_ + "/lock");
}

Result<machine::Descriptor> Places::lock() const {
  auto lock = files_.lock(folder_ + "/lock");
  if (lock || lock.error().code != Errc::busy) return lock;
  return Error{Errc::busy,
               fmt::format("expected no other deployment of this service, found one: {}",
                           machine::describe(holders())),
               "headroom deploy --status"};
}

std::vector<machine::LockHolder> Places::holders() const {
  return files_.lock_holders(folder_ + "/lock");
}

Result<std::optional<deploy::Record>> Places::read_record() const {
  const std::string path = folder_ + "/record.json";
  HEADROOM_TRY(const auto entry, files_.look(path));
  if (!entry) return std::optional<deploy::Record>();
  HEADROOM_TRY(const std::string text, files_.read(path, longest_record));
  auto record = deploy::parse_record(text);
  if (!record) return std::move(record).error().in(path);
  return std::optional(*std::move(record));
}

Status Places::keep(const deploy::Record& record) const {
  return write(folder_ + "/record.json", deploy::to_json_text(record));
}

Result<std::string> Places::read_service_file() const {
  return files_.read(folder_ + "/service.toml", longest_file);
}

Status Places::keep_service_file(const std::string& text) const {
  return write(folder_ + "/service.toml", text);
}

Result<std::optional<std::string>> Places::read_body() const {
  const std::string path = folder_ + "/body";
  HEADROOM_TRY(const auto entry, files_.look(path));
  if (!entry) return std::optional<std::string>();
  HEADROOM_TRY(std::string text, files_.read(path, longest_record));
  return std::optional(std::move(text));
}

Status Places::keep_body(const std::optional<std::string>& body) const {
  if (body) return write(folder_ + "/body", *body);
  HEADROOM_TRY(const auto entry, files_.look(folder_ + "/body"));
  return entry ? files_.remove(folder_ + "/body") : Status(Done{});
}

Result<std::string> Places::write_postmortem(const std::string& now,
                                             const std::string& text) const {
  const std::string path = fmt::format("{}/{}.md", folder_, now);
  HEADROOM_CHECK(write(path, text));
  return path;
}

Status Places::write(const std::string& path, const std::string& text) const {
  HEADROOM_TRY(const auto folder, files_.look(folder_));
  if (!folder) return Error{Errc::not_found, "writing " + path + ": its folder is gone", ""};
  return files_.replace(path, text, for_owner_of(*folder));
}

Result<std::vector<std::string>> deployed_services(const machine::WritableFiles& files,
                                                   const std::string& state) {
  const std::string folder = state + "/deploy";
  HEADROOM_TRY(const auto entry, files.look(folder));
  if (!entry) return std::vector<std::string>();
  return files.list(folder);
}

}  // namespace headroom::service
