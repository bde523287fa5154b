// SPDX-License-Identifier: Apache-2.0
// What is read of a Python stack: version.py and pyvenv.cfg from the text, names of folders and of
// code objects from each line of it.
#include "base/text.h"
#include "facts/python_stack.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::fuzz;
  const facts::Text text(std::string(to_text(data, size)), facts::Source{"/fuzzed", 0, ""});
  const facts::Torch torch = facts::parse_torch_version(text);
  if (torch.kind && *torch.kind == facts::TorchKind::cpu) require(!torch.hip && !torch.cuda);
  facts::parse_pyvenv(text);
  std::vector<std::string> names;
  for (const std::string_view line : split_lines(*text)) {
    names.emplace_back(line);
    const auto package = facts::parse_package_folder(line);
    if (package) require(!package->name.empty() && !package->version.empty());
    facts::parse_interpreter_name(line);
  }
  const auto targets = facts::find_targets(names);
  for (const std::string& target : targets) {
    require(target.starts_with("gfx") && facts::carries(targets, target));
  }
  return 0;
}
