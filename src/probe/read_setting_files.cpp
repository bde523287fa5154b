// SPDX-License-Identifier: Apache-2.0
#include "probe/read_setting_files.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/document.h"
#include "base/text.h"

namespace headroom::probe {
namespace {

constexpr std::size_t largest = std::size_t{256} << 10U;
constexpr std::size_t most_folders = 4000;
constexpr std::size_t most_files = 2000;

bool is_compose_file(std::string_view name) {
  const bool yaml = name.ends_with(".yml") || name.ends_with(".yaml");
  return yaml && (name.starts_with("compose") || name.starts_with("docker-compose") ||
                  name.starts_with("podman-compose"));
}

bool is_recipe(std::string_view name) {
  return name.starts_with("Dockerfile") || name.starts_with("Containerfile");
}

// Whether a folder is skipped, because it belongs to programs, not to a person's projects; such
// folders are large.
bool is_skipped(std::string_view name) {
  constexpr std::array skipped = {"node_modules", "site-packages", "__pycache__", "snap",
                                  "rocm",         "proc",          "sys",         "venv"};
  return name.starts_with('.') || name.starts_with("rocm-") ||
         std::find(skipped.begin(), skipped.end(), name) != skipped.end();
}

class Reader {
 public:
  explicit Reader(const machine::Files& files) : files_(files) {}

  void read_system() {
    for (const char* path :
         {"/etc/environment", "/etc/security/pam_env.conf", "/etc/profile", "/etc/bash.bashrc",
          "/etc/bashrc", "/etc/zshenv", "/etc/zsh/zshenv", "/etc/zsh/zshrc", "/etc/zsh/zprofile",
          "/etc/fish/config.fish", "/etc/systemd/system.conf", "/etc/systemd/user.conf",
          "/etc/group", "/usr/lib/group", "/etc/passwd", "/usr/lib/passwd"}) {
      add(path);
    }
    add_folder("/etc/environment.d", {".conf"});
    add_folder("/etc/profile.d", {".sh", ".bash", ".zsh"});
    add_folder("/etc/fish/conf.d", {".fish"});
    add_folder("/etc/systemd/system.conf.d", {".conf"});
    add_folder("/etc/systemd/user.conf.d", {".conf"});
    add_folder("/etc/security/limits.d", {".conf"});
    add_folder("/etc/udev/rules.d", {"headroom.rules"});
    // The distribution's folders come last, so that if a file has two names, the administrator's is
    // kept.
    for (const char* folder : {"/etc/systemd/system", "/etc/systemd/user",
                               "/usr/lib/systemd/system", "/lib/systemd/system"}) {
      add_units(folder, {".service", ".slice"});
    }
    for (const char* folder : {"/etc/containers/systemd", "/etc/containers/systemd/users",
                               "/usr/share/containers/systemd"}) {
      add_units(folder, {".container"});
    }
  }

  void read_home(const std::string& home) {
    for (const char* name :
         {".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile",
          ".xprofile", ".xsessionrc", ".pam_environment", ".bash_aliases",
          ".config/fish/config.fish", ".config/fish/fish_variables"}) {
      add(home + "/" + name);
    }
    add_folder(home + "/.bashrc.d", {""});
    add_folder(home + "/.config/environment.d", {".conf"});
    add_folder(home + "/.config/fish/conf.d", {".fish"});
    add_units(home + "/.config/systemd/user", {".service", ".slice"});
    add_units(home + "/.config/containers/systemd", {".container"});
  }

  void search(const std::string& folder, int depth) {
    if (++folders_ > most_folders) return;
    const std::vector<std::string> names = list(folder);
    const bool project = std::any_of(names.begin(), names.end(), is_compose_file);
    for (const std::string& name : names) {
      const std::string path = folder + "/" + name;
      if (is_compose_file(name) || is_recipe(name) || (project && name == ".env")) add(path);
      if (depth > 0 && !is_skipped(name) && is_real_folder(path)) search(path, depth - 1);
    }
  }

  // Reads the compose projects of docker's containers, which compose names in labels; only root can
  // read them.
  void read_compose_projects() {
    const std::string folder = "/var/lib/docker/containers";
    for (const std::string& name : list(folder)) {
      const auto text = files_.read(folder + "/" + name + "/config.v2.json", largest);
      if (!text) continue;
      const auto container = parse_json(*text);
      const Json::json_pointer labels("/Config/Labels");
      if (!container || !container->contains(labels)) continue;
      const auto& all = container->at(labels);
      const auto label = all.find("com.docker.compose.project.config_files");
      if (label == all.end() || !label->is_string()) continue;
      for (const std::string_view file : split(label->get_ref<const std::string&>(), ',')) {
        const std::size_t slash = file.rfind('/');
        if (!file.starts_with('/') || !is_compose_file(file.substr(slash + 1))) continue;
        add(std::string(file));
        add(std::string(file.substr(0, slash)) + "/.env");
      }
    }
  }

  std::vector<facts::ConfigFile> take() { return std::move(found_); }

 private:
  std::vector<std::string> list(const std::string& folder) const {
    auto names = files_.list(folder);
    return names ? *std::move(names) : std::vector<std::string>{};
  }

  // Links are not followed, so that no folder is searched twice or endlessly.
  bool is_real_folder(const std::string& path) const {
    return !files_.read_link(path) && files_.list(path).has_value();
  }

  void add(const std::string& path) {
    if (found_.size() >= most_files) return;
    const auto real = files_.resolve(path);
    if (!real || !seen_.insert(*real).second) return;
    auto text = files_.read(*real, largest);
    if (!text || text->find('\0') != std::string::npos) return;
    found_.push_back({*real, *std::move(text)});
  }

  void add_folder(const std::string& folder, const std::vector<std::string>& endings) {
    for (const std::string& name : list(folder)) {
      for (const std::string& ending : endings) {
        if (name.ends_with(ending)) add(folder + "/" + name);
      }
    }
  }

  void add_units(const std::string& folder, const std::vector<std::string>& endings) {
    for (const std::string& name : list(folder)) {
      for (const std::string& ending : endings) {
        if (name.ends_with(ending)) add_unit(folder, name);
        if (name.ends_with(ending + ".d")) {
          for (const std::string& part : list(folder + "/" + name)) {
            if (part.ends_with(".conf")) add_unit(folder + "/" + name, part);
          }
        }
      }
    }
  }

  void add_unit(const std::string& folder, const std::string& name) {
    const std::size_t before = found_.size();
    add(folder + "/" + name);
    if (found_.size() == before) return;
    const std::string text = found_.back().text;
    for (const std::string_view line : split_lines(text)) {
      if (!trim(line).starts_with("EnvironmentFile=")) continue;
      std::string path(trim(line.substr(line.find('=') + 1)));
      if (path.starts_with('-')) path.erase(0, 1);
      if (path.find_first_of("%*?[ ") != std::string::npos || path.empty()) continue;
      add(path.starts_with('/') ? path : folder + "/" + path);
    }
  }

  const machine::Files& files_;
  std::vector<facts::ConfigFile> found_;
  std::set<std::string> seen_;
  std::size_t folders_ = 0;
};

}  // namespace

std::vector<facts::ConfigFile> read_setting_files(const machine::Files& files,
                                                  const std::string& home) {
  Reader reader(files);
  reader.read_system();
  if (!home.empty() && home != "/") {
    reader.read_home(home);
    reader.search(home, 3);
  }
  reader.search("/opt", 2);
  reader.search("/srv", 2);
  reader.read_compose_projects();
  return reader.take();
}

}  // namespace headroom::probe
