# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` puts into each component, in a folder each, and copies of it whose modes and times say nothing of
the machine or the hour."""
import os
import pathlib
import shutil
import subprocess


class Stage:
    def __init__(self, build, folder, epoch):
        self._build, self._folder, self.epoch = build, folder, epoch
        self._installed = {}

    def folder(self, component):
        """The root with what the component installs, as below /."""
        if component not in self._installed:
            root = self._folder / "installed" / component
            root.mkdir(parents=True)
            subprocess.run(["cmake", "--install", self._build, "--component", component], check=True,
                           stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": str(root)})
            if not any(root.iterdir()):
                raise SystemExit(f"package: expected files of the component {component} in {self._build}, found none")
            self._installed[component] = root
        return self._installed[component]

    def copy(self, name, components):
        """A new folder with the named components in one tree."""
        tree = self._folder / name
        for component in components:
            shutil.copytree(self.folder(component), tree, symlinks=True, dirs_exist_ok=True)
        return tree

    def settle(self, tree):
        """Gives every file of the tree its mode and the one time."""
        for path in [tree, *tree.rglob("*")]:
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or is_program(path) else 0o644)
            os.utime(path, (self.epoch, self.epoch), follow_symlinks=False)


def is_program(path):
    """Whether a file is run as it is: programs and scripts. Shared libraries are not."""
    if ".so" in path.name or path.suffix == ".gz":
        return False
    with open(path, "rb") as file:
        begin = file.read(4)
    return begin == b"\x7fELF" or (begin[:2] == b"#!" and os.access(path, os.X_OK))


def files_of(tree):
    """Files and links below a folder, by path."""
    return sorted(path for path in pathlib.Path(tree).rglob("*") if path.is_symlink() or not path.is_dir())
