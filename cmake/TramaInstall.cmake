# What `cmake --install` puts where, beside what the folders install themselves. A component of the installation is a
# package of TramaPackages.cmake; what names none is part of the command's.
include(CMakePackageConfigHelpers)

set(headers_folder ${CMAKE_INSTALL_INCLUDEDIR}/trama)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/trama)

# trama_install_library(TARGET name COMPONENT package EXPORT set HEADERS C headers...)
function(trama_install_library target)
  cmake_parse_arguments(ARG "" "NAME;COMPONENT;EXPORT" "HEADERS" ${ARGN})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${ARG_NAME})
  install(TARGETS ${target} EXPORT ${ARG_EXPORT}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${ARG_COMPONENT} NAMELINK_COMPONENT libtrama-dev
    FILE_SET HEADERS DESTINATION ${headers_folder} COMPONENT libtrama-dev
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES ${ARG_HEADERS} DESTINATION ${headers_folder} COMPONENT libtrama-dev)
  install(EXPORT ${ARG_EXPORT} NAMESPACE trama:: DESTINATION ${config_folder} COMPONENT libtrama-dev)
endfunction()
trama_install_library(trama_client_shared NAME client COMPONENT libtrama0 EXPORT tramaClientTargets
                      HEADERS libclient/trama.h)
trama_install_library(trama_client_graphblas_shared NAME graphblas COMPONENT libtrama-graphblas0
                      EXPORT tramaGraphblasTargets HEADERS libclient/trama_graphblas.h)

set(made ${PROJECT_BINARY_DIR}/install)
configure_package_config_file(cmake/install/tramaConfig.cmake.in ${made}/tramaConfig.cmake
                              INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO)
# Until 1.0 the C++ API changes with each minor version; programs in C ask for none, or for the least they need.
write_basic_package_version_file(${made}/tramaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${made}/tramaConfig.cmake ${made}/tramaConfigVersion.cmake DESTINATION ${config_folder}
        COMPONENT libtrama-dev)

# These find everything from where they lie, so that the whole may be moved.
file(RELATIVE_PATH from_pkgconfig /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
# Not by their whole paths, which may be those of a sysroot.
set(graphblas_cflags "")
if(GRAPHBLAS_INCLUDE MATCHES "/suitesparse$")
  set(graphblas_cflags "-I\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}/suitesparse -I/usr/include/suitesparse")
endif()
foreach(name trama-client trama-graphblas)
  configure_file(cmake/install/${name}.pc.in ${made}/${name}.pc @ONLY)
  install(FILES ${made}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libtrama-dev)
endforeach()

file(GLOB documents CONFIGURE_DEPENDS docs/*.md)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/trama)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/trama/docs)
install(DIRECTORY control/graphs DESTINATION ${CMAKE_INSTALL_DATADIR}/trama FILES_MATCHING PATTERN *.toml)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libtrama-dev COMPONENT libtrama-dev
        FILES_MATCHING PATTERN *.c PATTERN *.cpp PATTERN CMakeLists.txt PATTERN python EXCLUDE)
install(FILES docs/trama.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
