# Installs the runtime library with its headers and CMake package, the command, and the shared libraries that they need,
# so that the prefix can be moved, or copied to another machine. Included last, when all targets are known.
include(CMakePackageConfigHelpers)

option(TCONV_BUNDLE_LIBRARIES "Install the shared libraries that tconv needs, all but the C library's, with it" ON)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tconv)
set(private_libraries ${CMAKE_INSTALL_LIBDIR}/tconv)

install(TARGETS tconv_runtime EXPORT tconvTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES core/data_type.hpp core/error.hpp core/problem.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tconv/core)
install(FILES runtime/runtime.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tconv/runtime)
install(EXPORT tconvTargets NAMESPACE tconv:: DESTINATION ${package_folder})
configure_package_config_file(cmake/tconvConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/tconvConfig.cmake"
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/tconvConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tconvConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/tconvConfigVersion.cmake"
        DESTINATION ${package_folder})

set_target_properties(tconv_runtime PROPERTIES INSTALL_RPATH "$ORIGIN/tconv")
set(installed_binaries $<TARGET_FILE:tconv_runtime>)

if(TARGET tconv)
    file(RELATIVE_PATH from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    # The compiler's own libraries are for the command alone: a program has those that it was built with, and older ones
    # found through the runtime library must not take their place.
    set_target_properties(tconv PROPERTIES INSTALL_RPATH
        "$ORIGIN/${from_bin};$ORIGIN/${from_bin}/tconv;$ORIGIN/${from_bin}/tconv/compiler")
    # DT_RPATH, unlike DT_RUNPATH, also finds what a bundled library needs itself.
    target_link_options(tconv PRIVATE -Wl,--disable-new-dtags)
    install(TARGETS tconv RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    list(APPEND installed_binaries $<TARGET_FILE:tconv>)
endif()

if(TCONV_BUNDLE_LIBRARIES)
    string(REPLACE ";" "|" joined "${installed_binaries}")
    install(CODE "
        set(TCONV_BINARIES \"${joined}\")
        set(TCONV_PRIVATE_LIBRARIES \"${private_libraries}\")
        include(\"${CMAKE_CURRENT_SOURCE_DIR}/cmake/bundle_libraries.cmake\")")
endif()
