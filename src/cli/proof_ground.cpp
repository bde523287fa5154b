// SPDX-License-Identifier: Apache-2.0
#include "cli/proof_ground.h"

#include <fmt/format.h>

#include <utility>

#include "cli/surroundings.h"
#include "machine/open_root.h"
#include "probe/probe.h"

namespace headroom::cli {

Status read_ground(const std::string& python, const std::string& root_path, const Context& context,
                   ProofGround& ground) {
  HEADROOM_TRY(ground.tables, knowledge::load_gpu_tables());
  HEADROOM_TRY(machine::OpenRoot opened, machine::open_root("/"));
  auto surroundings = make_surroundings(context, python, true);
  surroundings.ask_kfd = false;  // This process would be one of the GPU's holders until it ends.
  HEADROOM_TRY(ground.facts, probe::probe(opened.files, ground.tables, surroundings));
  if (root_path != "/") {
    HEADROOM_TRY(opened, machine::open_root(root_path));
    facts::PythonStack ours = std::move(ground.facts.python);
    surroundings = make_surroundings(context, "", false);
    HEADROOM_TRY(ground.facts, probe::probe(opened.files, ground.tables, surroundings));
    ground.facts.python = std::move(ours);
  }
  const auto root = std::make_shared<machine::OpenRoot>(std::move(opened));
  ground.files = {root, &root->files};
  ground.diagnosis = findings::diagnose({ground.facts, ground.tables});
  if (auto kernel = machine::KernelMessages::open()) ground.kernel.emplace(*std::move(kernel));
  return Done{};
}

Error no_python(const std::string& python, const std::string& command) {
  return {Errc::invalid,
          fmt::format("--python {}: expected an interpreter or a virtual environment, found none",
                      python),
          command};
}

}  // namespace headroom::cli
