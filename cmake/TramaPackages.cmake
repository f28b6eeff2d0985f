# Debian packages, from the rules of installation: `cpack -G DEB` in the build folder. So there is one list of what is
# installed, and a package holds the files that the tests have run.
#
#   trama                the command, its filter modules, graphs, service and documentation
#   trama-dpdk, -af-xdp  drivers of these sources, which need libraries that few machines want
#   libtrama0            libtrama.so.0
#   libtrama-graphblas0  windows as GrB_Matrix
#   libtrama-dev         headers, CMake and pkg-config files, examples
#   python3-trama        the Python package
set(TRAMA_MAINTAINER "Trama <root@localhost>" CACHE STRING "Whom the packages name as their maintainer")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME trama)
set(CPACK_PACKAGE_CONTACT "${TRAMA_MAINTAINER}")
set(CPACK_PACKAGE_VENDOR Trama)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# What the files need is read from themselves, by dpkg-shlibdeps; it comes with dpkg-dev.
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(DPKG_SHLIBDEPS)
if(DPKG_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/libclient)
endif()
# Programs want the very version that they were built with: those in C++ would not start with another.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(about "Trama counts packets between pairs of addresses, anonymized under Crypto-PAn, in windows of equal numbers of
packets. Each window is a hypersparse matrix of GraphBLAS, in an archive or in a stream.")
set(this_version "(= ${PROJECT_VERSION})")
set(CPACK_COMPONENTS_ALL "")
# trama_package(COMPONENT NAME package SECTION section SUMMARY text [DEPENDS text] [RECOMMENDS text] [SUGGESTS text])
function(trama_package component)
  cmake_parse_arguments(ARG "" "NAME;SECTION;SUMMARY;DEPENDS;RECOMMENDS;SUGGESTS" "" ${ARGN})
  string(TOUPPER ${component} upper)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${ARG_NAME} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${ARG_SECTION} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${ARG_SUMMARY}\n${about}" PARENT_SCOPE)
  foreach(relation DEPENDS RECOMMENDS SUGGESTS)
    if(ARG_${relation})
      set(CPACK_DEBIAN_${upper}_PACKAGE_${relation} "${ARG_${relation}}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

set(recommends_trama-dpdk librte-meta-net)  # drivers of the cards, which DPDK loads itself
set(drivers "")
foreach(plugin IN LISTS TRAMA_PLUGINS)
  string(REPLACE _ - package ${plugin})
  list(APPEND drivers ${package})
  trama_package(${package} NAME ${package} SECTION net DEPENDS "trama ${this_version}"
                RECOMMENDS "${recommends_${package}}"
                SUMMARY "Trama's driver ${plugin}: packets that pass the kernel by")
endforeach()
list(JOIN drivers ", " drivers)
trama_package(trama NAME trama SECTION net SUGGESTS "${drivers}"
              SUMMARY "Turns packets into anonymized traffic matrices")
set(CPACK_DEBIAN_TRAMA_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/package/postinst)
trama_package(libtrama0 NAME libtrama0 SECTION libs SUMMARY "Streams of traffic matrices: library")
trama_package(libtrama-graphblas0 NAME libtrama-graphblas0 SECTION libs DEPENDS "libtrama0 ${this_version}"
              SUMMARY "Streams of traffic matrices: as matrices of GraphBLAS")
trama_package(libtrama-dev NAME libtrama-dev SECTION libdevel
              DEPENDS "libtrama0 ${this_version}, libtrama-graphblas0 ${this_version}, libexpected-dev"
              RECOMMENDS libgraphblas-dev SUMMARY "Streams of traffic matrices: files to build programs with")
if(TRAMA_WITH_PYTHON)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/package/python/postinst
                                               ${PROJECT_SOURCE_DIR}/cmake/package/python/prerm)
  set(this_python ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR})
  math(EXPR next_minor "${Python_VERSION_MINOR} + 1")
  trama_package(python NAME python3-trama SECTION python
                DEPENDS "python3 (>= ${this_python}), python3 (<< ${Python_VERSION_MAJOR}.${next_minor}), python3-numpy"
                RECOMMENDS python3-suitesparse-graphblas SUMMARY "Streams of traffic matrices: for Python")
endif()
include(CPack)
