# SPDX-License-Identifier: Apache-2.0
"""A wheel (PEP 427) that carries the program, as those of ruff and ninja do: pip puts it into the environment's bin, and the
libraries, the allocator's Python, man pages and completions below the environment, where the program finds them."""
import base64
import hashlib
import time
import zipfile

import symbols
from staging import files_of, is_program

METADATA = """\
Metadata-Version: 2.1
Name: headroom
Version: {version}
Summary: Gets machine-learning jobs running, and keeps them running, on the AMD GPU a person has
License: Apache-2.0
Classifier: Environment :: Console
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: headroom (tools/package)
Root-Is-Purelib: false
Tag: py3-none-{tag}
"""

# Parts of the installed tree that an environment has no use for.
LEFT_OUT = ("usr/share/doc/", "usr/share/lintian/")


class _Writer:
    def __init__(self, path, epoch, info):
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self._when, self._info, self._record = time.gmtime(epoch)[:6], info, []

    def add(self, name, data, runs=False):
        entry = zipfile.ZipInfo(name, self._when)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if runs else 0o100644) << 16
        self._zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(data)}\n")

    def finish(self):
        name = f"{self._info}/RECORD"
        text = "".join(sorted(self._record)) + f"{name},,\n"
        self._zip.writestr(zipfile.ZipInfo(name, self._when), text)
        self._zip.close()


def _place(path, data_folder):
    """Where a file of the installed tree lies in the wheel; None of one that it does not carry."""
    if path.startswith("usr/bin/"):
        return f"{data_folder}/scripts/{path[len('usr/bin/'):]}"
    if path.startswith(LEFT_OUT) or path.startswith("usr/include/"):
        return None
    return f"{data_folder}/data/{path[len('usr/'):]}"


def make(stage, out, version, source):
    """Ends the program if something in it would not run on every system that the tag names."""
    info, data_folder = f"headroom-{version}.dist-info", f"headroom-{version}.data"
    tree = stage.copy("wheel", ("headroom", "allocator", "averager"))
    writer = _Writer(out / f"headroom-{version}-py3-none-{symbols.TAG}.whl", stage.epoch, info)
    faults = []
    for file in files_of(source / "python/headroom"):
        if file.suffix == ".py" or file.name == "py.typed":
            writer.add(f"headroom/{file.relative_to(source / 'python/headroom')}", file.read_bytes())
    for file in files_of(tree):
        place = _place(str(file.relative_to(tree)), data_folder)
        if place is None:
            continue
        data = file.read_bytes()  # Of a link what it leads to: a wheel has no links.
        if data[:4] == b"\x7fELF":
            faults += symbols.faults_of(file)
        writer.add(place, data, is_program(file) or ".so" in file.name)
    writer.add(f"{info}/METADATA", METADATA.format(version=version, readme=(source / "README.md").read_text()).encode())
    writer.add(f"{info}/WHEEL", WHEEL.format(tag=symbols.TAG).encode())
    writer.add(f"{info}/licenses/LICENSE", (source / "LICENSE").read_bytes())
    for notice in files_of(tree / "usr/share/doc/headroom/third-party"):
        writer.add(f"{info}/licenses/{notice.name}", notice.read_bytes())
    writer.finish()
    if faults:
        raise SystemExit("\n".join(faults))
