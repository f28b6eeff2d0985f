#!/usr/bin/env bash
# Makes the folder that the `arm64` preset builds against and runs in: the arm64 packages of every library that
# install-deps.sh lists, with what they depend on, unpacked side by side.
#
#   scripts/arm64-sysroot.sh [FOLDER]     FOLDER is build/sysroot-arm64 unless said
#
# Nothing of it touches this machine's packages: apt works on lists, state and cache of its own, inside FOLDER, and finds
# no package installed; dpkg only unpacks. What is taken over is where packages come from (sources, keys, passwords,
# proxies). Needs no root. Does nothing, and needs no network, when FOLDER holds the libraries of the list already;
# remove it to get newer packages.
set -euo pipefail

if [ $# -gt 1 ] || [[ "${1:-}" == -* ]]; then
  echo "usage: scripts/arm64-sysroot.sh [FOLDER]" >&2
  exit 2
fi
folder=$(realpath -m "${1:-$(dirname "$0")/../build/sysroot-arm64}")
cd "$(dirname "$0")/.."
done_file=$folder/.trama-sysroot
apt_folder=$folder/.trama-apt

fail() {
  echo "arm64-sysroot: $1" >&2
  [ -z "${2:-}" ] || echo "    $2" >&2
  exit 1
}

wanted=$(scripts/install-deps.sh --list-libraries)
[ -f "$done_file" ] && [ "$(cat "$done_file")" = "$wanted" ] && exit 0
[ ! -e "$folder" ] || [ -f "$done_file" ] || [ -d "$apt_folder" ] || [ -z "$(ls -A "$folder")" ] ||
  fail "$folder holds something else" "give an empty folder, or remove that"

for tool in apt-get apt-config dpkg; do
  command -v "$tool" >/dev/null || fail "there is no $tool" "this works on Debian; elsewhere, unpack the arm64 packages by hand"
done

# What this machine's configuration says about where and how to fetch; none of its hooks.
configure_apt() {
  mkdir -p "$apt_folder"/{lists/partial,cache/archives/partial,parts}
  : >"$apt_folder/status"
  apt-config dump | grep '^Acquire::' >"$apt_folder/config"
  cat >>"$apt_folder/config" <<CONFIG
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages { "none"; };
Dir::Etc::main "/dev/null";
Dir::Etc::parts "$apt_folder/parts";
Dir::State "$apt_folder";
Dir::State::status "$apt_folder/status";
Dir::State::lists "$apt_folder/lists";
Dir::Cache "$apt_folder/cache";
Dir::Cache::archives "$apt_folder/cache/archives";
Dir::Log "$apt_folder";
CONFIG
  export APT_CONFIG=$apt_folder/config
}

fetch() {
  # A source that has nothing for arm64, or can't be reached, is no harm as long as the others have all.
  apt-get update -qq || echo "arm64-sysroot: not every source could be read" >&2
  # shellcheck disable=SC2086  # the list is words
  apt-get install -qq -y --download-only $wanted ||
    fail "the arm64 packages can't be fetched" "apt's words stand above; its configuration is $APT_CONFIG"
}

unpack() {
  local package
  rm -rf "${folder:?}"/{usr,lib,etc,var,bin,sbin}
  for package in "$apt_folder"/cache/archives/*.deb; do
    dpkg -x "$package" "$folder" || fail "can't unpack $package"
  done
  # A link to /usr/... means this folder's.
  find "$folder" -path "$apt_folder" -prune -o -type l -lname '/*' -print | while read -r link; do
    ln -sfn "$(realpath -m -s --relative-to="$(dirname "$link")" "$folder$(readlink "$link")")" "$link"
  done
}

rm -rf "$apt_folder"
rm -f "$done_file"
configure_apt
fetch
unpack
rm -rf "$apt_folder"
printf '%s\n' "$wanted" >"$done_file"
echo "$folder: $(du -sh "$folder" | cut -f1)"
