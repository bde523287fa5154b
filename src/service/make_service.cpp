// SPDX-License-Identifier: Apache-2.0
#include "service/make_service.h"

#include "machine/services/command_service.h"
#include "machine/services/units.h"
#include "service/compose_place.h"

namespace headroom::service {

Result<std::unique_ptr<machine::Service>> make_service(const deploy::ServiceName& name,
                                                       const ServicePlace& place) {
  if (name.kind == deploy::ServiceKind::systemd || name.kind == deploy::ServiceKind::quadlet)
    return machine::make_unit_service({name.unit, name.user});
  if (name.kind == deploy::ServiceKind::compose) return make_compose(name, place);
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
