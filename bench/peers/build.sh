#!/usr/bin/env bash
# Builds PyTorch's real caching allocator over a GPU that only counts: bench/peers/build.sh FOLDER
# Prints the path of torch_peer. Exit code 77, and the reason on standard error, where it cannot be built: without CUDA's
# headers (CUDA_HOME, or /usr/local/cuda) or without the source. That is Debian's package of PyTorch (trixie's), from the
# mirror that the machine's own apt sources name, by a sources list of its own; the machine's lists and packages are left
# alone. All of it lies in FOLDER, none in git.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "${1:?the folder to build in, such as build/peers}"
folder=$(cd "$1" && pwd)
version=2.6.0  # Another one may need other functions of the runtime.

skip() { echo "bench/peers: skipped: $*" >&2; exit 77; }

cuda=${CUDA_HOME:-/usr/local/cuda}/include
[[ -f $cuda/cuda_runtime_api.h && -f $cuda/cuda.h ]] || skip "no CUDA headers in $cuda; set CUDA_HOME to where include/cuda.h is"

# The machine's first source of its own Debian release. A derivative's archive would not have Debian's packages.
find_mirror() {
  local release
  grep -qx 'ID=debian' /etc/os-release || return 0
  release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  # shellcheck disable=SC2016  # It is apt that expands these.
  apt-get indextargets --no-release-info --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' |
    awk -v release="$release" '$2 == release && $3 == "main" && !found++ { print $1 }'
}

fetch() {
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg apt=$folder/apt mirror
  command -v apt-get >/dev/null || skip "no apt-get to fetch Debian's source package of PyTorch with"
  [[ -f $keyring ]] || skip "no $keyring to verify Debian's archive with"
  mirror=$(find_mirror)
  [[ -n $mirror ]] || skip "no source of Debian in this machine's apt sources (apt-get indextargets lists them)"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/state" "$folder/package"
  echo "deb-src [signed-by=$keyring] $mirror trixie main" >"$apt/sources.list"
  local own=(-o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State="$apt/state"
    -o Dir::State::Lists="$apt/lists" -o Dir::State::Status=/var/lib/dpkg/status -o Dir::Cache="$apt/cache"
    -o APT::Update::Error-Mode=any)
  if [[ $EUID -eq 0 ]]; then own+=(-o APT::Sandbox::User=root); fi  # Its user may not write here.
  { timeout 300 apt-get "${own[@]}" -qq update &&
    (cd "$folder/package" && timeout 600 apt-get "${own[@]}" -qq source --download-only pytorch); } >"$folder/fetch.log" 2>&1 ||
    skip "the source package of PyTorch could not be had: $(tail -1 "$folder/fetch.log")"
  compgen -G "$folder/package/pytorch_$version+dfsg*.orig.tar.xz" >/dev/null ||
    skip "expected PyTorch $version in Debian trixie, found $(cd "$folder/package" && echo *.dsc)"
  touch "$folder/package/complete"
}

source=$folder/source
if [[ ! -f $source/complete ]]; then
  [[ -f $folder/package/complete ]] || fetch
  rm -rf "$source" && mkdir "$source"
  tar -xJf "$folder/package/pytorch_$version+dfsg"*.orig.tar.xz -C "$source" --strip-components=1 --wildcards \
    '*/c10/core/*' '*/c10/util/*' '*/c10/mobile/*' '*/c10/macros/*' '*/c10/cuda/*'
  touch "$source/complete"
fi

{ cmake -S "$here" -B "$folder/build" -G Ninja -DTORCH_SOURCE="$source" -DCUDA_INCLUDE="$cuda" &&
  cmake --build "$folder/build" --parallel "${JOBS:-$(nproc)}"; } >"$folder/build.log" 2>&1 ||
  skip "PyTorch's allocator did not build with the headers in $cuda; see $folder/build.log"
echo "$folder/build/bin/torch_peer"
