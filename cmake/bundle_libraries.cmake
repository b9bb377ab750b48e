# Run by `cmake --install`: copies the shared libraries that TCONV_BINARIES (joined with |) need to
# TCONV_PRIVATE_LIBRARIES under the prefix, the compiler's own to the folder `compiler` in it. The C library's stay: they
# belong to the machine.
string(REPLACE "|" ";" binaries "${TCONV_BINARIES}")
file(GET_RUNTIME_DEPENDENCIES
    LIBRARIES ${binaries}
    RESOLVED_DEPENDENCIES_VAR found
    UNRESOLVED_DEPENDENCIES_VAR missing
    PRE_EXCLUDE_REGEXES "^libtconv_runtime\\.so"
    POST_EXCLUDE_REGEXES
        "/(ld-linux-x86-64|libc|libm|libmvec|libdl|libpthread|librt|libresolv|libutil|libnsl|libanl)\\.so")
if(missing)
    message(FATAL_ERROR "These shared libraries are needed and not found: ${missing}")
endif()

foreach(library IN LISTS found)
    set(folder "${TCONV_PRIVATE_LIBRARIES}")
    if(library MATCHES "/(libstdc\\+\\+|libgcc_s|libgomp)\\.so")
        string(APPEND folder "/compiler")
    endif()
    file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/${folder}" TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN
         FILES "${library}")
endforeach()
