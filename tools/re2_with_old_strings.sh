#!/usr/bin/env bash
# RE2 as the distribution has it, compiled with the older of libstdc++'s two std::strings, into FOLDER/obj/libre2.a. Its source
# comes from the distribution's archive as well, so its headers are those that libre2-dev installed.
#
#   re2_with_old_strings.sh FOLDER
set -euo pipefail
folder=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# What apt knows of packages, asked for their sources instead. Its state is the scratch folder's, so nothing of the system
# changes and no root is needed.
mkdir -p "$scratch/sources" "$scratch/lists/partial" "$scratch/cache/archives/partial"
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  if [[ -f $file ]]; then sed 's/^deb /deb-src /' "$file" > "$scratch/sources/$(basename "$file" .list).list"; fi
done
for file in /etc/apt/sources.list.d/*.sources; do
  if [[ -f $file ]]; then sed 's/^Types:.*/Types: deb-src/' "$file" > "$scratch/sources/$(basename "$file")"; fi
done
apt=(apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$scratch/sources"
     -o Dir::State::lists="$scratch/lists" -o Dir::Cache="$scratch/cache" -o APT::Sandbox::User=)
"${apt[@]}" update
version=$(dpkg-query -W -f='${source:Version}' libre2-dev)
(cd "$scratch" && "${apt[@]}" source --download-only "re2=$version")
rm -rf "$folder"
dpkg-source -x "$scratch"/re2_*.dsc "$folder" >/dev/null

if grep -q absl "$folder/re2/re2.h"; then
  echo "re2_with_old_strings.sh: RE2 $version uses Abseil, which would have to be compiled with the old std::string too." \
       "Next: a PyTorch from 2.7 on, whose std::string is the new one" >&2
  exit 1
fi
# As debian/rules does: the tables are made from the distribution's Unicode data.
make -C "$folder" -j"$(nproc)" --silent REBUILD_TABLES=1 obj/libre2.a \
  CXXFLAGS="-O3 -fPIC -pthread -std=c++17 -D_GLIBCXX_USE_CXX11_ABI=0" >/dev/null
