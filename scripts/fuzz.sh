#!/usr/bin/env bash
# Runs the fuzz targets of the fuzz preset (scripts/build.sh fuzz), each on a corpus that is kept in build/fuzz/corpus.
#
#   scripts/fuzz.sh --short | --runs N [TARGET...]     TARGET: blob, capture_reader, header_walk; all unless said
#
# --short: as many executions as fit into a minute or so; what CI runs.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=
targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --short) runs=short ;;
    --runs) runs=$2; shift ;;
    *) targets+=("$1") ;;
  esac
  shift
done
[ ${#targets[@]} -gt 0 ] || targets=(blob capture_reader header_walk)

short_runs() {
  case $1 in
    header_walk) echo 500000 ;;
    *) echo 20000 ;;
  esac
}

for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  options=(-max_total_time=0 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$corpus/")
  [ -e "tests/fuzz/$target.dict" ] && options+=("-dict=tests/fuzz/$target.dict")
  case $runs in
    short) options+=("-runs=$(short_runs "$target")") ;;
    '') echo "say --short or --runs N" >&2; exit 2 ;;
    *) options+=("-runs=$runs") ;;
  esac
  echo "== $target"
  "build/fuzz/tests/fuzz/${target}_fuzz" "${options[@]}" "$corpus"
done
