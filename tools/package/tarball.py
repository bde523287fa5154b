# SPDX-License-Identifier: Apache-2.0
"""headroom-VERSION-linux-x86_64.tar.xz: one folder that runs from where it is unpacked."""
import lzma
import tarfile

COMPONENTS = ("headroom", "allocator", "allocator-development", "averager", "averager-development", "python")


def make(stage, out, version):
    name = f"headroom-{version}-linux-x86_64"
    tree = stage.copy(name, COMPONENTS) / "usr"
    stage.settle(tree)
    with lzma.open(out / f"{name}.tar.xz", "wb", preset=6) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for path in [tree, *sorted(tree.rglob("*"))]:
                entry = archive.gettarinfo(path, f"{name}/{path.relative_to(tree)}".removesuffix("/."))
                entry.uid = entry.gid = 0
                entry.uname = entry.gname = "root"
                if entry.isfile():
                    with open(path, "rb") as file:
                        archive.addfile(entry, file)
                else:
                    archive.addfile(entry)
