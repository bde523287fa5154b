// SPDX-License-Identifier: Apache-2.0
#include "service/tune_files.h"

#include "deploy/edit.h"
#include "deploy/key_edit.h"
#include "machine/user_files.h"
#include "service/service_change.h"

namespace headroom::service {
namespace {

using As = deploy::TuneSetting::As;

constexpr std::size_t longest_file = std::size_t{16} << 20U;

// Where a variable or an option of the service is set if nobody says it: in its compose file, or in
// the unit or quadlet that a change of it names.
std::string usual_file(const deploy::ServiceSpec& spec) {
  if (spec.service.kind == deploy::ServiceKind::compose) return spec.service.file;
  for (const deploy::FileChange& change : spec.changes) {
    const bool by_settings = change.set && change.set->keys.empty();
    if (by_settings && deploy::kind_of_file(change.file, spec.service.kind)) return change.file;
  }
  return "";
}

Result<std::string> read_it(const std::string& folder, const std::string& file) {
  auto text = machine::read_file(absolute_in(folder, file), longest_file);
  if (text) return text;
  Error error = std::move(text).error().in("tune: expected the file of a setting");
  if (error.next.empty()) error.next = "correct file in its [[tune]] or [[change]]";
  return error;
}

Status read_service_settings(const deploy::ServiceSpec& spec, const std::string& folder,
                             const std::string& file, tune::Present& present) {
  HEADROOM_TRY(const std::string text, read_it(folder, file));
  HEADROOM_TRY(const auto kind, deploy::kind_of_file(file, spec.service.kind));
  HEADROOM_TRY(auto settings, deploy::read_settings({kind, file, spec.service.service, ""}, text));
  present.values[file].insert(settings.environment.begin(), settings.environment.end());
  if (!settings.command.empty()) present.command = std::move(settings.command);
  if (settings.image) present.image = *settings.image;
  return Done{};
}

}  // namespace

Result<tune::Present> read_present(const deploy::ServiceSpec& spec, const std::string& folder) {
  tune::Present present;
  present.file = usual_file(spec);
  std::map<std::string, bool> files;  // Whether each is a plain one of keys.
  if (!present.file.empty()) files[present.file] = false;
  for (const deploy::TuneSetting& setting : spec.tune) {
    if (!setting.file.empty()) files[setting.file] = setting.as == As::key;
  }
  for (const auto& [file, is_plain] : files) {
    if (is_plain) {
      HEADROOM_TRY(const std::string text, read_it(folder, file));
      present.values[file] = deploy::read_keys(text);
    } else {
      HEADROOM_CHECK(read_service_settings(spec, folder, file, present));
    }
  }
  return present;
}

}  // namespace headroom::service
