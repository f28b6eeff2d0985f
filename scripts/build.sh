#!/usr/bin/env bash
# Builds one preset: scripts/build.sh [dev|release|asan|tsan|arm64|fuzz] [TARGET...]. The command is then build/PRESET/trama.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
[ "$preset" != arm64 ] || scripts/arm64-sysroot.sh
mkdir -p "build/$preset"
cmake --preset "$preset" >"build/$preset/configure.log" 2>&1 || { cat "build/$preset/configure.log" >&2; exit 1; }
targets=()
[ $# -gt 0 ] && targets=(--target "$@")
cmake --build "build/$preset" "${targets[@]}"
