# SPDX-License-Identifier: Apache-2.0
"""The notices of the third-party code that is linked in, as the distribution that it comes from has them."""
import pathlib
import shutil

PACKAGES = ("libfmt-dev", "libre2-dev", "libyaml-dev", "libsqlite3-dev", "libmd-dev", "nlohmann-json3-dev",
            "libtomlplusplus-dev", "libexpected-dev", "libcli11-dev", "libpcre2-dev", "libutf8proc-dev", "libevent-dev",
            "libncurses-dev", "gcc-12-base")


def add(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        notice = pathlib.Path("/usr/share/doc", package, "copyright")
        if not notice.exists():
            raise SystemExit(f"package: expected the notice of {package} at {notice}, found none")
        shutil.copyfile(notice, folder / f"{package}.txt")
