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

# For builds without CMake: pkg-config --cflags --libs regard, with --static for the static library,
# which needs the C++ runtime.
file(RELATIVE_PATH REGARD_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" REGARD_PC_PREFIX "${REGARD_PC_PREFIX}")
set(REGARD_PC_LIBS_PRIVATE "-lstdc++ -lm -pthread")
get_target_property(linked regard LINK_LIBRARIES)
if(PTHREADPOOL_LIBRARY AND PTHREADPOOL_LIBRARY IN_LIST linked)
  string(PREPEND REGARD_PC_LIBS_PRIVATE "${PTHREADPOOL_LIBRARY} ")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/regard.pc.in ${PROJECT_BINARY_DIR}/regard.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/regard.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
