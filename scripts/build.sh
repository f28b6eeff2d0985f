#!/usr/bin/env bash
# Builds one preset: scripts/build.sh [dev|release|asan|tsan|fuzz] [TARGET...]. The command is then build/PRESET/trama.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
cmake --preset "$preset" >"build-$preset.log" 2>&1 || { cat "build-$preset.log" >&2; rm -f "build-$preset.log"; exit 1; }
rm -f "build-$preset.log"
targets=()
[ $# -gt 0 ] && targets=(--target "$@")
cmake --build "build/$preset" "${targets[@]}"
