#!/usr/bin/env bash
# Installs what is missing, builds and runs every test: scripts/test.sh [--long]. --long adds the tests that take more
# than their share of half an hour. The last line counts what was run.
set -uo pipefail
cd "$(dirname "$0")/.."

export TRAMA_LONG=
[ "${1:-}" = --long ] && export TRAMA_LONG=1
# A sanitizer's finding ends a test program with a status of its own, so that no test can take it for a refusal.
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=halt_on_error=1:exitcode=99:print_stacktrace=1
export TSAN_OPTIONS=exitcode=99:suppressions=$PWD/tests/tsan.supp
export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0
passed=0 failed=0 skipped=0

# Runs a command as one test: its output is shown when it fails.
check() {
  local name=$1 log
  shift
  log=$(mktemp)
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "ok    $name"
  else
    failed=$((failed + 1))
    echo "FAIL  $name"
    tail -n 60 "$log"
  fi
  rm -f "$log"
}

# Builds a preset; everything behind it in the line depends on it.
build() {
  local started=$SECONDS log
  log=$(mktemp)
  if scripts/build.sh "$@" >"$log" 2>&1; then
    echo "built $1 in $((SECONDS - started)) s"
    rm -f "$log"
  else
    failed=$((failed + 1))
    echo "FAIL  build $1"
    grep -E 'error|FAILED' "$log" | head -n 40
    tail -n 40 "$log"
    rm -f "$log"
    return 1
  fi
}

# Runs a preset's tests through ctest, and counts them one by one.
ctest_preset() {
  local preset=$1 log started=$SECONDS
  shift
  log=$(mktemp)
  local status=0
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(($(nproc) + 1))" "$@" >"$log" 2>&1 || status=$?
  local ok bad skip
  ok=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+:.* Passed ' "$log")
  skip=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+:.*\*\*\*Skipped ' "$log")
  bad=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+:.*\*\*\*(Failed|Timeout|Exception|Not Run)' "$log")
  [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
  [ "$bad" -eq 0 ] || tail -n 150 "$log"
  grep -F '***Skipped' "$log"
  echo "$preset: $ok passed, $bad failed, $skip skipped in $((SECONDS - started)) s"
  rm -f "$log"
}

# TRAMA_CAPTURE_CHECK: a program that judges the command on a collection of captures; where there is none, nothing is
# checked.
check_captures() {
  [ -n "${TRAMA_CAPTURE_CHECK:-}" ] || return 0
  check "captures, $1" python3 "$TRAMA_CAPTURE_CHECK" --trama "build/$1/trama"
  check "captures through a pipe, $1" python3 "$TRAMA_CAPTURE_CHECK" --trama "build/$1/trama" --pipe
}

scripts/install-deps.sh || exit 1
check "format" scripts/check_format.sh
check "include rules" python3 scripts/check_includes.py

# The program for arm64 is compared with that of the release build by one of the latter's tests, which says so when it
# has to be left out: the libraries come over the network the first time, and the build takes minutes.
export TRAMA_ARM64=
[ -z "$TRAMA_LONG" ] || { scripts/arm64-sysroot.sh && build arm64 trama && TRAMA_ARM64=$PWD/build/arm64/trama; }
build release && ctest_preset release && check_captures release
[ -z "$TRAMA_LONG" ] || [ -z "$TRAMA_ARM64" ] || { build arm64 && TRAMA_LONG= ctest_preset arm64; }
[ -z "$TRAMA_LONG" ] || check "every broken engine is noticed" python3 tests/engine/mutants.py
build asan && ctest_preset asan && check_captures asan
build tsan {engine,ebpf_thread,modules_thread}_tests && ctest_preset tsan -L threads
build fuzz {blob,capture_reader,compact,control_protocol,envelope,filter_object,filter_program,header_walk}_fuzz && check "fuzz, short" scripts/fuzz.sh --short

echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
