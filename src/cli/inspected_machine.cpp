// SPDX-License-Identifier: Apache-2.0
#include "cli/inspected_machine.h"

#include "cli/surroundings.h"
#include "probe/probe.h"
#include "probe/read_boot_setup.h"
#include "probe/read_libraries.h"
#include "probe/read_setting_files.h"

namespace headroom::cli {

Result<std::unique_ptr<InspectedMachine>> inspect_machine(const std::string& root,
                                                          const std::string& user,
                                                          const Context& context) {
  HEADROOM_TRY(auto tables, knowledge::load_gpu_tables());
  HEADROOM_TRY(auto opened, machine::open_root(root));
  std::unique_ptr<InspectedMachine> machine(
      new InspectedMachine{std::move(tables), std::move(opened), {}, {}, {}, {}, {}, {}});
  const machine::Files& files = machine->root.files;
  const auto surroundings = make_surroundings(context, "", files.is_real());
  HEADROOM_TRY(machine->facts, probe::probe(files, machine->tables, surroundings));
  machine->diagnosis = findings::diagnose({machine->facts, machine->tables});
  machine->boot = probe::read_boot_setup(files, machine->facts.machine);
  machine->invoking_user = find_invoking_user(files, user, context);
  machine->setting_files = probe::read_setting_files(files, machine->invoking_user.home);
  machine->libraries = probe::read_libraries(files);
  return machine;
}

}  // namespace headroom::cli
