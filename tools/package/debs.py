# SPDX-License-Identifier: Apache-2.0
"""The .debs, by dpkg-deb. `headroom` and the library need the C library alone and install on every release that has it;
headroom-train is of the release whose libtorch it was built with (docs/decisions/0026)."""
import gzip
import pathlib
import shutil
import subprocess
import tempfile

import control
from staging import files_of

def _pack(data, to):
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(gzip.compress(data, 9, mtime=0))


def _arrange_documents(tree, package, release):
    """Puts there what every package has to have, and moves what Debian has at other places than we do."""
    doc = tree / "usr/share/doc" / package.name
    doc.mkdir(parents=True, exist_ok=True)
    (doc / "copyright").write_text(control.COPYRIGHT)
    _pack(control.changelog(release).encode(), doc / "changelog.gz")
    (doc / "LICENSE").unlink(missing_ok=True)  # `copyright` refers to Debian's own copy.
    for page in [doc / "CHANGELOG.md", *sorted((tree / "usr/share/man").rglob("*.[1-9]"))]:
        if page.exists():
            _pack(page.read_bytes(), page.with_name(page.name + ".gz"))
            page.unlink()
    completions = tree / "usr/share/zsh/site-functions"
    if completions.exists():
        shutil.move(completions, completions.with_name("vendor-completions"))


def _arrange_python(tree):
    """Puts the package where Debian's Python looks."""
    packages = tree / "usr/lib/python3/dist-packages"
    packages.mkdir(parents=True)
    shutil.move(tree / "usr/share/headroom/python/headroom", packages / "headroom")
    shutil.rmtree(tree / "usr/share")


def _shared_libraries(tree):
    """What dpkg-shlibdeps says that the package's programs and libraries need of other packages than ours."""
    binaries = [path for path in files_of(tree) if not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF"]
    if not binaries:
        return []
    with tempfile.TemporaryDirectory(prefix="headroom-deb-") as folder:
        debian = pathlib.Path(folder, "debian")
        debian.mkdir()
        (debian / "control").write_text("Source: headroom\n\nPackage: any\nArchitecture: amd64\n")
        (debian / "shlibs.local").write_text("libheadroom_allocator 1 libheadroom-allocator1\n")
        answer = subprocess.run(
            ["dpkg-shlibdeps", "-O", "--warnings=0", f"-l{tree / 'usr/lib/x86_64-linux-gnu'}", *binaries], cwd=folder,
            check=True, capture_output=True, text=True).stdout
    found = answer.strip().partition("=")[2]
    return [one for one in found.split(", ") if one and not one.startswith("libheadroom-allocator1")]


def _build(stage, tree, package, out, release):
    control_folder = tree / "DEBIAN"
    control_folder.mkdir()
    needs = _shared_libraries(tree)
    size = sum((path.lstat().st_size + 1023) // 1024 for path in files_of(tree))
    (control_folder / "control").write_text(control.control(package, release, needs, size))
    for name, text in package.more.items():
        (control_folder / name).write_text(text)
        (control_folder / name).chmod(0o755 if text.startswith("#!") else 0o644)
    sums = [f"{control.md5(path)}  {path.relative_to(tree)}\n" for path in files_of(tree)
            if not path.is_symlink() and control_folder not in path.parents]
    (control_folder / "md5sums").write_text("".join(sums))
    stage.settle(tree)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree,
                    out / f"{package.name}_{release.version}_{package.architecture}.deb"], check=True, stdout=subprocess.DEVNULL)


def make(stage, out, release, with_train):
    for package in control.PACKAGES:
        if package.name == "headroom-train" and not with_train:
            continue
        tree = stage.copy(f"deb-{package.name}", package.components)
        if package.architecture == "all":
            _arrange_python(tree)
        _arrange_documents(tree, package, release)
        if package.overrides:
            overrides = tree / "usr/share/lintian/overrides" / package.name
            overrides.parent.mkdir(parents=True)
            overrides.write_text(package.overrides)
        _build(stage, tree, package, out, release)
