#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rocprofiler_register.sh FOLDER: puts AMD's librocprofiler-register, which hands a HIP runtime's table of functions to
# profilers, into FOLDER/lib, for tests/faces/hip_register_test.py. It is Debian's build, which needs a younger C library
# than Debian 12 has, so that library and its loader lie beside it. Nothing is installed.
set -euo pipefail
folder=${1:?rocprofiler_register.sh: expected a folder to put the library into, for instance build/rocprofiler_register}

# The one that is tested is pinned; what it needs is whatever the archive has of it.
wanted=librocprofiler-register-0
version=7.2.4+ds-1~exp2
sum=c8aecd9118b58465c02c02f71dc6982077c3be79a2b7328fdf91140a1a61a85b
beside=(libc6/trixie libgcc-s1/trixie libstdc++6/trixie libgoogle-glog0v6t64/trixie libgflags2.2/trixie libunwind8/trixie
        liblzma5/trixie libfmt11)

for program in apt-get dpkg-deb sha256sum; do
  command -v "$program" > /dev/null || { echo "rocprofiler_register.sh: $program is not there; it takes a Debian" >&2; exit 1; }
done
if [[ -e $folder/$version ]]; then exit 0; fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists,cache/archives,packages}/partial
signed='deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian'
printf '%s %s main\n' "$signed" trixie "$signed" sid "$signed" experimental > "$work/sources.list"
apt=(apt-get -qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
     -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
"${apt[@]}" update
cd "$work/packages"
"${apt[@]}" download "$wanted=$version" "${beside[@]}" || {
  echo "rocprofiler_register.sh: expected $wanted $version in Debian's archive; a newer one needs its version and sum here" >&2
  exit 1
}
echo "$sum  $(echo "$wanted"_*.deb)" | sha256sum --check --quiet
for package in *.deb; do dpkg-deb -x "$package" "$work/root"; done
rm -rf "${folder:?}/lib"
mv "$work/root/usr/lib/x86_64-linux-gnu" "$folder/lib"
touch "$folder/$version"
