// SPDX-License-Identifier: Apache-2.0
#include "machine/initramfs_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "machine/initramfs_walk.h"
#include "machine/root_folder.h"

namespace headroom::machine {
namespace {

constexpr std::string_view make_again =
    "make the initramfs again: update-initramfs -u -k all   (Fedora, openSUSE: dracut --force "
    "--regenerate-all; Arch: mkinitcpio -P)";
constexpr std::size_t links_max = 40;  // As the kernel's own limit on the way to a file.
constexpr std::size_t kept_bytes_max = std::size_t{64} << 20U;
constexpr std::size_t names_bytes_max = std::size_t{256} << 20U;

using Links = std::map<std::string, std::string>;  // Name → what the link says.

Error too_much(const char* what) {
  return {Errc::invalid,
          std::string("expected an initramfs image, found one with too many ") + what, ""};
}

std::string_view last_part(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

// The name with every link on its way followed, its last part too if `whole`; nullopt in a loop.
std::optional<std::string> follow(std::string name, const Links& links, bool whole) {
  for (std::size_t followed = 0; followed < links_max; ++followed) {
    bool changed = false;
    for (std::size_t end = name.find('/');; end = name.find('/', end + 1)) {
      if (end == std::string::npos && !whole) break;
      const auto link = links.find(name.substr(0, end));
      if (link != links.end()) {
        const std::string& target = link->second;
        const std::size_t slash = link->first.rfind('/');
        const bool from_root = target.starts_with('/') || slash == std::string::npos;
        const std::string rest = end == std::string::npos ? "" : name.substr(end);
        name = without_dots((from_root ? "" : link->first.substr(0, slash + 1)) + target + rest);
        changed = true;
        break;
      }
      if (end == std::string::npos) break;
    }
    if (!changed) return name;
  }
  return std::nullopt;
}

// Looks for one name, and learns the image's links on the way. A name that shares its file with
// others (hard links) may come without the bytes, and after the one that has them: then `shared()`
// names the file, and a second search that awaits it finds them.
class Search : public CpioVisitor {
 public:
  explicit Search(std::string name, std::string awaited = "")
      : name_(std::move(name)), awaited_(std::move(awaited)) {}

  const std::optional<std::string>& found() const { return found_; }
  const std::string& shared() const { return without_bytes_; }
  const Links& links() const { return links_; }

  bool wants(const CpioEntry& entry) override {
    if (is_it(entry)) return true;
    const std::string shared = shared_file(entry);
    return !shared.empty() && entry.size > 0 && (shared == file_ || shared == awaited_);
  }

  Status visit(const CpioEntry& entry, std::string bytes) override {
    if (entry.is_link()) return keep_link(entry, std::move(bytes));
    links_.erase(entry.name);
    if (is_it(entry)) {
      keep_found(entry, std::move(bytes));
    } else if (const std::string shared = shared_file(entry); !shared.empty() && !bytes.empty()) {
      if (shared == awaited_) awaited_bytes_ = bytes;
      if (shared == file_) found_ = std::move(bytes);
      if (shared == without_bytes_) without_bytes_.clear();
    }
    return Done{};
  }

  void archive_ends() override { ++archive_; }

 private:
  // The kernel follows links on the way to what it makes.
  std::string real_name(const CpioEntry& entry) const {
    return follow(entry.name, links_, false).value_or(entry.name);
  }
  bool is_it(const CpioEntry& entry) const {
    return last_part(entry.name) == last_part(name_) && real_name(entry) == name_;
  }
  // Which file this is a name of, if it has several; empty if not.
  std::string shared_file(const CpioEntry& entry) const {
    const bool shared = entry.is_file() && entry.links > 1;
    return shared ? fmt::format("{}/{}", archive_, entry.file_id) : "";
  }

  void keep_found(const CpioEntry& entry, std::string bytes) {
    file_ = shared_file(entry);
    const bool elsewhere = !file_.empty() && bytes.empty();
    without_bytes_ = elsewhere && file_ != awaited_ ? file_ : "";
    if (elsewhere && file_ == awaited_) bytes = awaited_bytes_;
    found_ = entry.is_file() ? std::optional(std::move(bytes)) : std::nullopt;
  }

  Status keep_link(const CpioEntry& entry, std::string target) {
    std::string name = real_name(entry);
    if (name == name_) found_.reset();
    kept_bytes_ += name.size() + target.size();
    if (kept_bytes_ > kept_bytes_max) return too_much("links");
    links_[std::move(name)] = std::move(target);
    return Done{};
  }

  std::string name_;
  std::string awaited_;
  std::string awaited_bytes_;
  std::optional<std::string> found_;
  std::string file_;           // Of what was found, where it has more names.
  std::string without_bytes_;  // The same, while its bytes did not come.
  Links links_;
  std::size_t kept_bytes_ = 0;
  int archive_ = 0;
};

// One name, its hard links included.
struct Found {
  std::optional<std::string> bytes;
  Links links;
};
Result<Found> find_name(const RandomAccess& image, const std::string& name) {
  Search search(name);
  HEADROOM_CHECK(walk_initramfs(image, search));
  if (search.shared().empty()) return Found{search.found(), search.links()};
  Search again(name, search.shared());
  HEADROOM_CHECK(walk_initramfs(image, again));
  return Found{again.found(), again.links()};
}

class Names : public CpioVisitor {
 public:
  bool wants(const CpioEntry&) override { return false; }
  Status visit(const CpioEntry& entry, std::string) override {
    bytes_ += entry.name.size() + sizeof(std::string);
    if (bytes_ > names_bytes_max) return too_much("names");
    if (!entry.name.empty()) names_.push_back(entry.name);
    return Done{};
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::vector<std::string> names_;
  std::size_t bytes_ = 0;
};

// Opens the image, and says in every error which one it was.
template <class Root, class Read>
auto with_image(const Root& root, std::string_view path, Read read)
    -> decltype(read(std::declval<const FileBytes&>())) {
  HEADROOM_TRY(const Descriptor file, root.open_file(path));
  auto image = FileBytes::of(file.get());
  if (!image) return std::move(image).error().in(fmt::format("reading {}", path));
  auto answer = read(*image);
  if (!answer) return std::move(answer).error().in(fmt::format("reading {}", path));
  return answer;
}

}  // namespace

Result<std::optional<std::string>> read_from_initramfs(const RandomAccess& image,
                                                       std::string_view name) {
  std::string wanted = without_dots(name);
  std::set<std::string> tried;
  // Again only where a link leads elsewhere, which is known at the end alone.
  while (tried.insert(wanted).second && tried.size() <= links_max) {
    HEADROOM_TRY(Found search, find_name(image, wanted));
    if (search.bytes) return std::move(search.bytes);
    auto leads_to = follow(wanted, search.links, true);
    if (!leads_to || *leads_to == wanted) break;
    wanted = *std::move(leads_to);
  }
  return std::optional<std::string>();
}

Result<std::vector<std::string>> list_initramfs(const RandomAccess& image) {
  Names names;
  HEADROOM_CHECK(walk_initramfs(image, names));
  return names.take();
}

Result<std::optional<std::string>> read_from_initramfs(const Files& files, std::string_view path,
                                                       std::string_view name) {
  return with_image(files, path,
                    [&](const FileBytes& image) { return read_from_initramfs(image, name); });
}

Result<std::optional<std::string>> read_from_initramfs(const WritableFiles& files,
                                                       std::string_view path,
                                                       std::string_view name) {
  return with_image(files, path,
                    [&](const FileBytes& image) { return read_from_initramfs(image, name); });
}

Result<std::vector<std::string>> list_initramfs(const WritableFiles& files, std::string_view path) {
  return with_image(files, path, [](const FileBytes& image) { return list_initramfs(image); });
}

Status expect_in_image(const WritableFiles& files, std::string_view image,
                       std::string_view machine_path) {
  HEADROOM_TRY(const std::string now, files.read(machine_path));
  HEADROOM_TRY(const auto held, read_from_initramfs(files, image, machine_path));
  if (!held) {
    return Error{
        Errc::not_found,
        fmt::format("expected {} to hold {}, found that it does not hold it", image, machine_path),
        std::string(make_again)};
  }
  if (*held != now) {
    return Error{Errc::invalid,
                 fmt::format("expected {} to hold {} as it is now ({} bytes), found an older copy "
                             "({} bytes)",
                             image, machine_path, now.size(), held->size()),
                 std::string(make_again)};
  }
  return Done{};
}

}  // namespace headroom::machine
