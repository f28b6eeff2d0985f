#!/usr/bin/env bash
# Says which sources clang-format would change. `git ls-files | grep -E '\.(cpp|hpp|h|c)$' | xargs clang-format -i` mends.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -co --exclude-standard -- '*.cpp' '*.hpp' '*.h' '*.c' | xargs clang-format --dry-run -Werror
