# Cross build for 64-bit Arm: Debian's cross compiler against the folder that scripts/arm64-sysroot.sh makes. Programs
# run in user-mode QEMU, which is how their tests are found and run too.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(TRAMA_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-arm64" CACHE PATH "Unpacked arm64 packages")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TRAMA_SYSROOT)  # the file is read again in every try_compile
file(REAL_PATH "${TRAMA_SYSROOT}" CMAKE_SYSROOT)
if(NOT EXISTS "${CMAKE_SYSROOT}/usr/include")
  message(FATAL_ERROR "${CMAKE_SYSROOT} is no sysroot: scripts/arm64-sysroot.sh makes it")
endif()

# Libraries, headers and CMake files come from there and nowhere else; programs (Python, pkg-config) from this machine.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR}
    "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/lib/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")

# Cores as in a BlueField-2: 64-bit Arm version 8.0 with AES, and nothing that came later.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -cpu cortex-a72 -L "${CMAKE_SYSROOT}")
