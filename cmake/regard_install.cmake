# Installs the library, its headers and a CMake package: find_package(regard) gives regard::regard.
include(CMakePackageConfigHelpers)

install(TARGETS regard EXPORT regard_targets
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/regard ${PROJECT_BINARY_DIR}/include/regard
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(REGARD_BUILD_CLI)
  install(TARGETS regard_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/regard)
install(EXPORT regard_targets NAMESPACE regard:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/regard-config.cmake.in
                              ${PROJECT_BINARY_DIR}/regard-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/regard-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/regard-config.cmake
              ${PROJECT_BINARY_DIR}/regard-config-version.cmake
        DESTINATION ${package_dir})
