#!/usr/bin/env bash
# Says which sources clang-format would change. clang-format -i FILE mends.
set -euo pipefail
cd "$(dirname "$0")/.."
find engine modules libclient ebpf control python examples tests \( -name '*.[ch]pp' -o -name '*.[ch]' \) -print0 | xargs -0 clang-format --dry-run -Werror
