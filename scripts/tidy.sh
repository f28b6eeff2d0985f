#!/usr/bin/env bash
# clang-tidy over the project's sources, with the flags of the dev preset: scripts/tidy.sh [FILE...].
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset dev >/dev/null
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(find engine modules libclient ebpf control -name '*.cpp')
# GCC's own flags mean nothing to clang.
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy -p build/dev --quiet \
  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument
