# tconv_embed(OUTPUT file.cpp FUNCTION name FILES ...): generates a source file that holds the files' text and defines
#   const std::map<std::string, std::string_view>& tconv::NAME()
# It is made again when any of the files changes.
function(tconv_embed)
    cmake_parse_arguments(arg "" "OUTPUT;FUNCTION" "FILES" ${ARGN})
    set(paths)
    foreach(file IN LISTS arg_FILES)
        list(APPEND paths "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    endforeach()
    string(REPLACE ";" "|" joined "${paths}")
    add_custom_command(
        OUTPUT "${arg_OUTPUT}"
        COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${arg_OUTPUT}" "-DFUNCTION=${arg_FUNCTION}" "-DFILES=${joined}"
                -P "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
        DEPENDS ${paths} "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
        VERBATIM)
endfunction()
