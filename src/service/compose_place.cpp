// SPDX-License-Identifier: Apache-2.0
#include "service/compose_place.h"

#include "deploy/compose_project.h"
#include "machine/services/compose_service.h"
#include "machine/user_files.h"

namespace headroom::service {
namespace {

constexpr std::string_view project_variable = "COMPOSE_PROJECT_NAME=";

}  // namespace

Result<std::unique_ptr<machine::Service>> make_compose(const deploy::ServiceName& name,
                                                       const ServicePlace& place) {
  machine::ComposeServiceOptions options;
  options.file = name.file.starts_with('/') ? name.file : place.folder + "/" + name.file;
  options.service = name.service;
  options.environment = place.environment;
  options.own = place.own;
  const std::size_t slash = options.file.rfind('/');
  deploy::ComposePlace where{options.file.substr(0, slash), name.service, {}, {}};
  for (const std::string& one : place.environment) {
    if (one.starts_with(project_variable)) where.name = one.substr(project_variable.size());
  }
  const auto environment_file = machine::read_file(where.folder + "/.env");
  if (environment_file) where.environment_file = *environment_file;
  HEADROOM_TRY(const std::string text, machine::read_file(options.file));
  HEADROOM_TRY(auto project, deploy::read_compose_project(where, options.file, text));
  options.project = std::move(project.name);
  options.profiles = std::move(project.profiles);
  return machine::make_compose_service(options);
}

}  // namespace headroom::service
