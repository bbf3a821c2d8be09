#!/usr/bin/env bash
# usage: build_and_run.sh [plain|asan|ubsan|tsan|bench] [part of a test's name ...]
# Builds layer 0 with its tests (or micro benchmarks) and runs them. Needs a C++20 compiler (CXX) and
# make. Objects stay in build/device_cpp/<variant>, or in $SPYRE_TEST_BUILD_DIR/<variant>.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); top=$(cd "$here/../.." && pwd)
variant=${1:-plain}; [ $# -gt 0 ] && shift
case $variant in
  plain|asan|ubsan|tsan|bench) ;;
  *) echo "unknown variant '$variant': plain, asan, ubsan, tsan or bench" >&2; exit 2 ;;
esac
out=${SPYRE_TEST_BUILD_DIR:-$top/build/device_cpp}/$variant; mkdir -p "$out"
make -s -j"${MAX_JOBS:-2}" -f "$here/build.mk" TOP="$top" OUT="$out" VARIANT="$variant"
export SPYRE_TEST_CXX=${CXX:-g++} SPYRE_TEST_INCLUDE=$top/torch_spyre/include
export ASAN_OPTIONS=detect_leaks=1:${ASAN_OPTIONS:-} UBSAN_OPTIONS=print_stacktrace=1
exec "$out/device_tests" "$@"
