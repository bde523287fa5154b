// SPDX-License-Identifier: Apache-2.0
#include "service/make_service.h"

#include <fmt/format.h>

#include "machine/services/command_service.h"

namespace headroom::service {

Result<std::unique_ptr<machine::Service>> make_service(const deploy::ServiceName& name,
                                                       const ServicePlace& place) {
  if (name.kind != deploy::ServiceKind::commands) {
    return Error{Errc::unsupported,
                 fmt::format("expected a service of kind \"commands\", found \"{}\": this version "
                             "shows what it would change of such services, and does not do it",
                             to_string(name.kind)),
                 "write its start, stop and status commands into SERVICE.toml, as kind = "
                 "\"commands\""};
  }
  machine::CommandServiceOptions options;
  options.name = name.name;
  options.folder = place.folder;
  options.environment = place.environment;
  options.start = name.start;
  options.stop = name.stop;
  options.status = name.status;
  options.logs = name.logs;
  if (name.pidfile) {
    options.pidfile =
        name.pidfile->starts_with('/') ? *name.pidfile : place.folder + "/" + *name.pidfile;
  }
  options.output_file = place.output_file;
  options.own = place.own;
  return machine::make_command_service(std::move(options));
}

}  // namespace headroom::service
