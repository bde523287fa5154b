// SPDX-License-Identifier: Apache-2.0
#include "probe/read_python.h"

#include <algorithm>

#include "base/text.h"
#include "probe/read_text.h"
#include "probe/read_torch.h"

namespace headroom::probe {
namespace {

using facts::Missing;
using facts::PythonStack;
using facts::Source;
using facts::Text;
using facts::Why;
using machine::Files;

constexpr std::size_t path_folders_max = 64;

// The prefixes where containers and installers put Python; the system's own comes last.
constexpr const char* usual_prefixes[] = {
    "/opt/venv",   "/venv",      "/app/.venv", "/opt/conda", "/opt/conda/envs/py_3.12",
    "/opt/python", "/usr/local", "/usr"};
constexpr const char* superuser_home = "/root";  // The home folder of jobs in most containers.

// Returns "/a/b" for "/a/b/c", and "/" for "/a".
std::string parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string last_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Returns "3.12" for "3.12.3".
std::string series(const std::string& version) {
  const std::size_t second = version.find('.', version.find('.') + 1);
  return version.find('.') == std::string::npos ? version : version.substr(0, second);
}

// Finds the newest python3.N under PREFIX/lib.
Text find_version(const Files& files, const std::string& prefix) {
  const std::string folder = prefix + "/lib";
  Text found(Missing{Why::not_present, "no python3.N in it"}, Source{folder, 0, ""});
  std::uint64_t newest = 0;
  const auto names = files.list(folder);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    const auto version = facts::parse_interpreter_name(name);
    const auto minor =
        version && version->starts_with("3.") ? parse_u64(version->substr(2)) : std::nullopt;
    if (!minor || (found && *minor < newest)) continue;
    newest = *minor;
    found = {*version, Source{folder + "/" + name, 0, ""}};
  }
  return found;
}

// Takes the version from the interpreter's name after following links: /usr/bin/python3 →
// python3.12. If a capture kept the link but not the program, the link tells.
Text version_of(const Files& files, const std::string& executable) {
  const auto real = files.resolve(executable);
  const auto link = real ? real : files.read_link(executable);
  const auto version = link ? facts::parse_interpreter_name(last_name(*link)) : std::nullopt;
  if (version) return {*version, Source{executable, 0, *link}};
  return {Missing{Why::not_present, "its name does not say"}, Source{executable, 0, ""}};
}

void add_system_folders(const std::string& prefix, const std::string& version,
                        std::vector<std::string>& folders) {
  const std::string own = "/python" + version;
  if (prefix == "/usr") {
    for (const char* place : {"/usr/local/lib", "/usr/local/lib64"}) {
      folders.push_back(place + own + "/dist-packages");
      folders.push_back(place + own + "/site-packages");
    }
    folders.emplace_back("/usr/lib/python3/dist-packages");
  }
  for (const char* place : {"/lib", "/lib64"}) {
    folders.push_back(prefix + place + own + "/site-packages");
  }
  folders.push_back(prefix + "/lib" + own + "/dist-packages");
}

// Reads the Python of PREFIX, a virtual environment or an installation. Returns false if there is
// none.
bool read_prefix(const Files& files, const std::string& prefix, const std::string& home,
                 PythonStack& stack) {
  const auto environment = facts::parse_pyvenv(read_text(files, prefix + "/pyvenv.cfg"));
  const bool is_environment = environment.home || environment.version;
  stack.prefix = {prefix, environment.home.source()};
  if (environment.version) stack.version = environment.version;
  if (!stack.version) stack.version = find_version(files, prefix);
  if (!stack.version) return false;
  std::vector<std::string> folders;
  const std::string version = series(*stack.version);
  if (is_environment) folders.push_back(prefix + "/lib/python" + version + "/site-packages");
  if (!is_environment || environment.system_packages) {
    if (!home.empty()) {
      folders.push_back(home + "/.local/lib/python" + version + "/site-packages");
    }
    const bool nested = is_environment && environment.home;
    add_system_folders(nested ? parent(*environment.home) : prefix, version, folders);
  }
  for (const std::string& folder : folders) read_packages(files, folder, stack);
  return true;
}

// An interpreter in a virtual environment is recognised by the file beside its bin folder; any
// other belongs to the installation that its links lead to.
bool read_executable(const Files& files, const std::string& executable, const std::string& home,
                     PythonStack& stack) {
  stack.interpreter = {executable, Source{executable, 0, ""}};
  std::string prefix = parent(parent(executable));
  if (!files.exists(prefix + "/pyvenv.cfg")) {
    stack.version = version_of(files, executable);
    const auto real = files.resolve(executable);
    if (real) prefix = parent(parent(*real));
    if (prefix == "/") prefix = "/usr";  // /bin is /usr/bin.
  }
  return read_prefix(files, prefix, home, stack);
}

// Finds the interpreter behind pyenv's script; pyenv's file `version` names the chosen one. Returns
// "" for the system's.
std::string behind_shim(const Files& files, const std::string& executable) {
  const std::string folder = parent(executable);
  if (!folder.ends_with("/.pyenv/shims")) return executable;
  const std::string root = parent(folder);
  const auto chosen = files.read(root + "/version");
  const auto lines = chosen ? split_lines(*chosen) : std::vector<std::string_view>{};
  const std::string name(lines.empty() ? "" : trim(lines.front()));
  const std::string real = root + "/versions/" + name + "/bin/python3";
  return !name.empty() && name != "system" && files.exists(real) ? real : "";
}

std::string find_on_path(const Files& files, const std::string& path) {
  std::size_t looked = 0;
  for (const std::string_view folder : split(path, ':')) {
    if (!folder.starts_with('/') || ++looked > path_folders_max) continue;
    for (const char* name : {"/python3", "/python"}) {
      std::string executable = std::string(folder) + name;
      if (!files.exists(executable)) continue;
      executable = behind_shim(files, executable);
      if (!executable.empty()) return executable;
    }
  }
  return "";
}

bool read_named(const Files& files, const PythonRequest& request, PythonStack& stack) {
  std::string name = request.named;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  const auto names = files.list(name);
  if (!names) {
    return files.exists(name) && read_executable(files, name, request.home, stack);
  }
  const bool packages = name.ends_with("-packages") ||
                        std::find(names->begin(), names->end(), "torch") != names->end();
  if (!packages) {
    if (files.exists(name + "/bin/python3")) {
      return read_executable(files, name + "/bin/python3", request.home, stack);
    }
    return read_prefix(files, name, "", stack);
  }
  stack.interpreter = {Missing{Why::not_applicable, "a folder of packages was named"},
                       Source{name, 0, ""}};
  const auto version = facts::parse_interpreter_name(last_name(parent(name)));
  if (version) stack.version = {*version, Source{name, 0, ""}};
  read_packages(files, name, stack);
  return true;
}

PythonStack read_usual(const Files& files, const std::string& home) {
  PythonStack first;
  std::vector<std::string> prefixes = {(home.empty() ? std::string(superuser_home) : home) +
                                       "/.venv"};
  prefixes.insert(prefixes.end(), std::begin(usual_prefixes), std::end(usual_prefixes));
  for (const std::string& prefix : prefixes) {
    PythonStack stack;
    const std::string executable = prefix + "/bin/python3";
    const bool there = files.exists(executable);
    // The folders there then belong to the Python of /usr.
    if (!there && prefix == "/usr/local") continue;
    if (there) {
      stack.interpreter = {executable, Source{executable, 0, ""}};
      stack.version = version_of(files, executable);
    }
    if (!read_prefix(files, prefix, home, stack)) continue;
    if (!stack.torch_folder.empty()) return stack;
    if (first.folders.empty()) first = std::move(stack);
  }
  return first;
}

// Finds libraries of the system that would be loaded before those that a package brings.
void read_preferred(const Files& files, const std::string& library_path, PythonStack& stack) {
  constexpr std::size_t entries_max = 8;
  for (const std::string_view entry : split(library_path, ':')) {
    if (!entry.starts_with('/') || entry.find("rocm") == std::string_view::npos) continue;
    // The entry is inside a package.
    if (entry.find("-packages/") != std::string_view::npos) continue;
    if (stack.preferred.size() >= entries_max) break;
    std::string folder(entry);
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    stack.preferred.push_back(
        {folder, facts::parse_word(read_text(files, parent(folder) + "/.info/version"))});
  }
}

}  // namespace

facts::PythonStack read_python(const Files& files, const PythonRequest& request) {
  PythonStack stack;
  if (!request.named.empty()) {
    const Source none{request.named, 0, ""};
    if (!read_named(files, request, stack)) {
      stack = {};
      stack.interpreter = {Missing{Why::not_present, "no Python there"}, none};
    }
    stack.named = true;
  } else if (request.path.empty()) {
    stack = read_usual(files, request.home);
  } else {
    const std::string executable = find_on_path(files, request.path);
    if (!executable.empty()) read_executable(files, executable, request.home, stack);
  }
  const Missing nowhere{Why::not_present,
                        request.path.empty() ? "none in the usual places" : "none on PATH"};
  if (stack.folders.empty() && !stack.interpreter && request.named.empty()) {
    stack.interpreter = {nowhere, Source{request.path.empty() ? "/usr/lib" : "PATH", 0, ""}};
    stack.version = stack.interpreter;
    stack.prefix = stack.interpreter;
  }
  read_preferred(files, request.library_path, stack);
  return stack;
}

}  // namespace headroom::probe
