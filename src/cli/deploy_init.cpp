// SPDX-License-Identifier: Apache-2.0
#include "cli/deploy_init.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "deploy/compose_project.h"
#include "deploy/service_file.h"
#include "machine/services/paths.h"
#include "machine/user.h"
#include "machine/user_files.h"

namespace headroom::cli {
namespace {

constexpr const char* file_name = "SERVICE.toml";

std::string last_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}
std::string without_ending(const std::string& name) {
  return name.substr(0, name.rfind('.'));
}
bool is_one_of(const std::string& text, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&text](const char* ending) { return text.ends_with(ending); });
}

// As a TOML string.
std::string quoted(const std::string& text) {
  std::string word = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      word += fmt::format("\\u{:04x}", byte);
      continue;
    }
    if (c == '"' || c == '\\') word += '\\';
    word += c;
  }
  return word + "\"";
}

// A name as [service] takes it: it becomes part of the names of files.
std::string service_name(std::string text) {
  for (char& c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter && (c < '0' || c > '9') && c != '_' && c != '.') c = '-';
  }
  text.erase(0, std::min(text.find_first_not_of(".-"), text.size()));
  return quoted(text.empty() ? "service" : text.substr(0, 100));
}

// The one that asks for an AMD GPU, or else the first.
std::string likely_service(const std::string& path, std::string_view text,
                           const std::vector<std::string>& names) {
  const auto described = deploy::read_service_file(path, text);
  if (!described) return names.front();
  for (const deploy::DescribedService& one : *described) {
    const bool asks =
        deploy::is_for_rocm(one.settings) || deploy::is_given(one.settings, "/dev/kfd");
    if (asks) return one.name;
  }
  return names.front();
}

// The line of [service] that names one service of a compose file, and with it the others to choose
// from.
std::string compose_service_line(const std::string& path) {
  const auto text = machine::read_file(path);
  const auto names = deploy::read_compose_services(text ? std::string_view(*text) : "{}");
  if (!names || names->empty()) return "service = \"NAME\"   # as the compose file names it\n";
  const std::string chosen = likely_service(path, *text, *names);
  std::vector<std::string> others;
  for (const std::string& name : *names) {
    if (name != chosen) others.push_back(quoted(name));
  }
  const std::string line = "service = " + quoted(chosen);
  if (others.empty()) return line + "\n";
  return line + "   # its name in that file; it also has " + join(others, ", ") + "\n";
}

// The [service] table and what is changed.
std::string service_table(const std::string& what) {
  const bool is_user = !machine::runs_as_root();
  const std::string name = last_name(what);
  const std::string path = machine::real_path(what).value_or(what);
  if (is_one_of(what, {".yaml", ".yml"})) {
    return fmt::format(
        "[service]\nname = {0}\nkind = \"compose\"\nfile = {1}\n{2}\n[[change]]\n"
        "set = {{ image = \"IMAGE:TAG\" }}\n",
        service_name(without_ending(name)), quoted(path), compose_service_line(path));
  }
  if (is_one_of(what, {".container"})) {
    return fmt::format(
        "[service]\nname = {0}\nkind = \"quadlet\"\nunit = {1}\nuser = {2}\n\n[[change]]\nfile = "
        "{3}\nset = {{ image = \"IMAGE:TAG\", devices = [\"/dev/kfd\", \"/dev/dri\"] }}\n",
        service_name(without_ending(name)), quoted(without_ending(name) + ".service"), is_user,
        quoted(path));
  }
  const std::string unit = is_one_of(name, {".service"}) ? name : name + ".service";
  const std::string drop_in =
      what.find('/') == std::string::npos ? "/etc/systemd/system/" + unit : path;
  return fmt::format(
      "[service]\nname = {0}\nkind = \"systemd\"\nunit = {1}\nuser = {2}\n\n[[change]]\nfile = "
      "{3}\nset = {{ environment = {{ NAME = \"VALUE\" }} }}\n",
      service_name(without_ending(unit)), quoted(unit), is_user, quoted(drop_in));
}

std::string service_file(const std::string& what) {
  return "# What headroom deploy changes, and how it proves the change. docs/deploy.md lists every "
         "key.\n" +
         service_table(what) +
         "\n[health]\n"
         "url = \"http://127.0.0.1:PORT/PATH\"   # answers once the service is up\n"
         "timeout_s = 60\n"
         "\n[smoke]\n"
         "# A request that makes the service do its real work, so that models are loaded now.\n"
         "url = \"http://127.0.0.1:PORT/PATH\"\n"
         "expect_status = 200\n"
         "repeat = 20\n"
         "concurrency = 4\n"
         "timeout_s = 120\n"
         "\n[expect]\n"
         "gpu = false      # true: it must really use the GPU\n"
         "faster = 0       # 1.5: the change is kept only if it is half as fast again\n"
         "\n[watch]\n"
         "seconds = 600\n"
         "crashes = 0\n"
         "hang_s = 60\n";
}

}  // namespace

int write_service_file(const std::string& what, const Context& context) {
  const bool is_file =
      what.find('/') != std::string::npos || is_one_of(what, {".yaml", ".yml", ".container"});
  const auto found = machine::real_path(what);
  if (is_file && !found && found.error().code == Errc::not_found) {
    return print_error(context,
                       {Errc::not_found,
                        fmt::format("deploy --init: expected a compose file, a quadlet or a unit, "
                                    "found nothing at {}",
                                    what),
                        "headroom deploy --init FILE"},
                       exit_usage);
  }
  const auto there = machine::read_file(file_name);
  if (there ? !there->empty() : there.error().code != Errc::not_found) {
    return print_error(
        context,
        {Errc::invalid,
         fmt::format("expected to write {}, found one that is there already", file_name),
         fmt::format("headroom deploy {}   (or move it away)", file_name)},
        exit_usage);
  }
  const std::string text = service_file(what);
  const Status written = machine::write_file_atomic(file_name, text);
  if (!written) return print_error(context, written.error(), exit_could_not_look);
  context.printer.print(text);
  context.printer.note(fmt::format(
      "wrote {}: fill in the change, the request and the answer, then run headroom deploy {}",
      file_name, file_name));
  return exit_ok;
}

}  // namespace headroom::cli
