# How everything here is compiled: the language, the warnings (all are errors), the instruction sets, the sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(trama_options INTERFACE)
target_include_directories(trama_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(trama_options INTERFACE TRAMA_VERSION="${PROJECT_VERSION}")
# GCC is the judge of warnings; clang, which builds what the sanitizers watch in half the time and means more by some of
# them, only says its own.
target_compile_options(trama_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor
                       $<$<CXX_COMPILER_ID:GNU>:-Werror> $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlapping copies and unset members in std::string where there are none (its bugs 105651, 105593).
  target_compile_options(trama_options INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
  # Without it GCC 12 copies constant shuffle tables to the stack at each use. With it, it merges the temporaries of
  # braced lists, which AddressSanitizer takes for a use after scope.
  if(NOT TRAMA_SANITIZE MATCHES "address")
    target_compile_options(trama_options INTERFACE -fmerge-all-constants)
  endif()
endif()

# One binary for every processor: this is the floor, Google Highway chooses upward at run time. Its targets differ with
# these flags, so that they must be the same for every file that includes it.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(trama_options INTERFACE -march=x86-64-v2 -maes -mpclmul)
  target_compile_definitions(trama_options INTERFACE HWY_WANT_AVX3_DL)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  target_compile_definitions(trama_options INTERFACE
                             "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
endif()

if(TRAMA_SANITIZE)
  target_compile_options(trama_options INTERFACE -fsanitize=${TRAMA_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(trama_options INTERFACE -fsanitize=${TRAMA_SANITIZE})
  if(TRAMA_SANITIZE MATCHES "thread")
    # GCC says that ThreadSanitizer doesn't know atomic_thread_fence; engine/doze.hpp says why that does no harm.
    target_compile_options(trama_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
endif()

# With sanitizers everything is compiled again, and a third of that is reading the same headers. Not in the builds that
# are installed: there a file that forgets to include something is to be noticed.
if(TRAMA_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_precompile_headers(trama_options INTERFACE
    <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <filesystem> <functional> <map> <memory> <mutex> <optional>
    <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector> <tl/expected.hpp>)
endif()

# The presets of the sanitizers compile several files at once (CMAKE_UNITY_BUILD), and that of the release the tests
# (TRAMA_UNITY_TESTS): it takes a third of the time. Not the product that is installed, for the same reason as above.
# Eight files that stand one after the other in a list are then one, so that names in their unnamed namespaces meet, and
# a new file in the list brings others together. When they collide, rename one, or make one of two that are the same. A
# function may also overload another one without a word: -DCMAKE_UNITY_BUILD_BATCH_SIZE=0, which takes all files of a
# target at once, shows most of what might meet, and the preset `dev`, which takes none, what a test forgot to include.
# Compiled apart are files that can't have company: what Highway compiles once for each processor, system headers that
# define what others do, and parts of which each has the same short names for its own numbers.
option(TRAMA_UNITY_TESTS "Compile several tests at once" OFF)
function(trama_compile_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# What runs once a run (command line, graph files, JSON, eBPF objects) and not for each packet: instrumented, it takes
# three times as long to optimize as it will ever run.
if(TRAMA_SANITIZE)
  set(TRAMA_SETUP_OPTIMIZATION -O0)
else()
  set(TRAMA_SETUP_OPTIMIZATION "")
endif()
# Files that are set-up, in a library that mostly isn't.
function(trama_setup_files)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${TRAMA_SETUP_OPTIMIZATION}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()
# A library that mostly is set-up, but for the files that are named.
function(trama_setup_library target)
  if(TRAMA_SANITIZE AND NOT TRAMA_FUZZ)  # fuzz targets want every execution that they can get
    target_compile_options(${target} PRIVATE -O0)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()
