#!/usr/bin/env bash
# Runs the fuzz targets of the fuzz preset (scripts/build.sh fuzz); docs/fuzzing.md says what they check.
#
#   scripts/fuzz.sh --short | --runs N [TARGET...]     TARGET: blob, capture_reader, compact, control_protocol, envelope,
#                                                      filter_object, filter_program, header_walk; else all
#   scripts/fuzz.sh --keep [TARGET...]                 takes what was found into tests/fuzz/corpus, minimized
#
# --short: as many executions as fit into a minute or so; what CI runs. Begins with tests/fuzz/corpus and the seeds that
# the build has written; what is new goes to build/fuzz/corpus, a finding too.
set -euo pipefail
cd "$(dirname "$0")/.."
# Small inputs: little memory to watch, and the caller of an allocation is enough (a finding is replayed with more).
export ASAN_OPTIONS=quarantine_size_mb=16:clear_shadow_mmap_threshold=10000000:malloc_context_size=1:${ASAN_OPTIONS:-}

runs=
targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --short) runs=short ;;
    --runs) runs=$2; shift ;;
    --keep) runs=keep ;;
    *) targets+=("$1") ;;
  esac
  shift
done
[ ${#targets[@]} -gt 0 ] || targets=(blob capture_reader compact control_protocol envelope filter_object filter_program header_walk)
[ -n "$runs" ] || { echo "say --short, --runs N or --keep" >&2; exit 2; }

short_runs() {
  case $1 in
    header_walk) echo 1500000 ;;
    blob | capture_reader) echo 100000 ;;
    filter_object) echo 1000 ;;  # a process each
    *) echo 20000 ;;
  esac
}

# Longer inputs than this find nothing more, and take longer.
longest() {
  case $1 in
    header_walk) echo 512 ;;
    filter_program) echo 242 ;;  # two bytes and forty records
    filter_object) echo 65536 ;;
    *) echo 2048 ;;
  esac
}

for target in "${targets[@]}"; do
  program=build/fuzz/tests/fuzz/${target}_fuzz
  found=build/fuzz/corpus/$target seeds=build/fuzz/seeds/$target kept=tests/fuzz/corpus/$target
  options=("-max_len=$(longest "$target")" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1
           "-artifact_prefix=$found/")
  [ -e "tests/fuzz/$target.dict" ] && options+=("-dict=tests/fuzz/$target.dict")
  # How rare what an input reaches is: to count it takes a tenth to a third of the time.
  [ "$target" = filter_program ] && options+=(-entropic=0)
  mkdir -p "$found" "$kept"
  corpora=("$found" "$kept")
  [ -d "$seeds" ] && corpora+=("$seeds")
  echo "== $target"
  case $runs in
    keep)
      minimized=$(mktemp -d)
      "$program" "${options[@]}" -use_counters=0 -set_cover_merge=1 "$minimized" "${corpora[@]}"
      find "$kept" -type f -delete
      mv "$minimized"/* "$kept"
      rmdir "$minimized"
      ;;
    short) "$program" "${options[@]}" "-runs=$(short_runs "$target")" "${corpora[@]}" ;;
    *) "$program" "${options[@]}" "-runs=$runs" "${corpora[@]}" ;;
  esac
done
