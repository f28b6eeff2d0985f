#!/usr/bin/env bash
# Installs what Trama needs to build, run and be tested on Debian 12: the one list of packages, each with its reason.
#
#   scripts/install-deps.sh                     installs what is missing, through sudo when not root
#   scripts/install-deps.sh --list              prints the packages
#   scripts/install-deps.sh --list-libraries    prints those of them that are needed for the target of a cross build
#
# Nothing is done, and no network is needed, when all packages are there.
set -euo pipefail

packages() {
  sed -e 's/#.*//' -e '/^[[:space:]]*$/d' <<'LIST' | awk '{print $1}'
g++                            # the compiler
cmake                          # the build
ninja-build                    # the build, in parallel
pkg-config                     # finds libraries that have no CMake files
libtoml11-dev                  # graph files
libexpected-dev                # tl::expected: errors as values
libcli11-dev                   # the command line
nlohmann-json3-dev             # summaries and manifests
libconcurrentqueue-dev         # moodycamel: the rings between stages
libhwy-dev                     # Google Highway: vector code for every processor
libgraphblas-dev               # SuiteSparse:GraphBLAS: writer = "graphblas", and the tests' judge
liblz4-dev                     # blobs, compressed captures
libzstd-dev                    # blobs, compressed captures
zlib1g-dev                     # compressed captures (gzip)
liblzma-dev                    # compressed captures (xz)
libxxhash-dev                  # checksums in manifests
libarchive-dev                 # reads archives
libssl-dev                     # key fingerprints, HMAC, random keys
libbpf-dev                     # links and loads eBPF filters
libelf-dev                     # libbpf needs it
libasmjit-dev                  # machine code of eBPF filters
libsystemd-dev                 # says to systemd that a run is ready, alive and stopping
prometheus-cpp-dev             # metrics of a running engine
libzmq3-dev                    # ZeroMQ: matrix streams
cppzmq-dev                     # ZeroMQ for C++
libnats-dev                    # matrix streams over NATS; Trama can be built without it
libxdp-dev                     # the source af_xdp; Trama can be built without it
libdpdk-dev                    # the source dpdk, with all drivers; Trama can be built without it
linux-libc-dev                 # headers that eBPF filters include
libpcap-dev                    # compiles filter expressions
libnl-route-3-dev              # what interfaces have lost
libgtest-dev                   # tests
libgmock-dev                   # tests
libbenchmark-dev               # benchmarks
pybind11-dev                   # the Python package; Trama can be built without it
python3-dev                    # the Python package
python3                        # end-to-end tests
python3-numpy                  # end-to-end tests
python3-suitesparse-graphblas  # end-to-end tests: an independent reader of every blob
mypy                           # checks the types of the Python package
gnuplot-nox                    # draws the figures of `trama bench --plot`
nats-server                    # tests of streams over NATS; they start their own
iproute2                       # end-to-end tests: interfaces of their own
ethtool                        # end-to-end tests: offloads of these interfaces
faketime                       # end-to-end tests: a clock that is set
libarchive-tools               # end-to-end tests: bsdtar lists our archives
tshark                         # end-to-end tests: judges random captures beside us
xz-utils                       # tests of compressed captures
zstd                           # tests of compressed captures
valgrind                       # tests: counts the kernels' instructions
g++-aarch64-linux-gnu          # the arm64 preset; its libraries come by scripts/arm64-sysroot.sh
qemu-user-static               # the arm64 preset: runs its programs
dpkg-dev                       # Debian packages: what they depend on is read from their programs
file                           # Debian packages: which of their files are programs
clang                          # eBPF filters, fuzz targets
libclang-rt-14-dev             # fuzz targets: libFuzzer
clang-format                   # the format check
clang-tidy                     # scripts/tidy.sh
LIST
}

if [ "${1:-}" = --list ]; then
  packages
  exit
fi
if [ "${1:-}" = --list-libraries ]; then
  # clang's is a part of the compiler; DPDK's brings 190 packages along, and its source can be left out, as Python's
  # package can.
  packages | grep -e '-dev$' | grep -v -e '^libclang' -e '^libdpdk' -e '^pybind11' -e '^python3' -e '^dpkg'
  exit
fi

missing=()
for package in $(packages); do
  dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}
if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
  echo "install-deps: these packages are missing, and neither root nor sudo is here to install them:" >&2
  echo "    apt-get install ${missing[*]}" >&2
  exit 1
fi

echo "installing: ${missing[*]}"
# Another apt may hold the lock of the lists for a while; old lists are good enough if it does so for long.
for _ in 1 2 3 4 5 6; do
  as_root apt-get update -q && break
  sleep 10
done
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
  -o DPkg::Lock::Timeout=300 "${missing[@]}"
