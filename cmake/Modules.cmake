# How our own code is compiled: with warnings, private headers visible, sanitizers when asked for.
function(fedsinkhorn_private_settings target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)
  set(warnings -Wall -Wextra -Wpedantic -Wconversion)
  if(FEDSINKHORN_WERROR)
    list(APPEND warnings -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    list(APPEND warnings -Wno-sign-conversion) # not part of what GCC calls -Wconversion in C++
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND warnings -Wno-restrict) # GCC bug 105651: false alarms on std::string
  endif()
  # What nvcc makes of a source for the host compiler is not ours to be pedantic about.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>"
                                           $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wconversion>)
  if(FEDSINKHORN_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${FEDSINKHORN_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${FEDSINKHORN_SANITIZE})
  endif()
endfunction()

# For what runs no inner loops: optimising it takes time and gains none. Tests that compute little by themselves are not
# optimised at all.
#   fedsinkhorn_compile_fast(target [level])
function(fedsinkhorn_compile_fast target)
  set(level 1)
  if(ARGC GREATER 1)
    set(level ${ARGV1})
  endif()
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O${level}>
                                           $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O0>)
endfunction()

# A module is the objects of a folder of src/; the libraries below are made of all of them. APART: not of this one, which
# programs that need it add by fedsinkhorn_add_module.
#   fedsinkhorn_module(folder [APART] [WITHOUT file ... | ONLY file ...] [LINK ...])
function(fedsinkhorn_module folder)
  cmake_parse_arguments(MODULE "APART" "" "WITHOUT;ONLY;LINK" ${ARGN})
  set(path ${PROJECT_SOURCE_DIR}/src/${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${path}/*.cpp ${path}/*.cu)
  if(MODULE_ONLY)
    list(TRANSFORM MODULE_ONLY PREPEND ${path}/ OUTPUT_VARIABLE sources)
  endif()
  list(TRANSFORM MODULE_WITHOUT PREPEND ${path}/)
  list(REMOVE_ITEM sources ${MODULE_WITHOUT})
  if(NOT sources) # headers alone
    return()
  endif()
  string(REPLACE "/" "_" name ${folder})
  set(target fedsinkhorn_${name})
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE ${MODULE_LINK} Threads::Threads)
  fedsinkhorn_private_settings(${target})
  if(MODULE_APART)
    set_property(TARGET ${target} PROPERTY FEDSINKHORN_LINK ${MODULE_LINK})
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY FEDSINKHORN_OBJECTS $<TARGET_OBJECTS:${target}>)
  set_property(GLOBAL APPEND PROPERTY FEDSINKHORN_LINK ${MODULE_LINK})
endfunction()

# Adds a module that is not in the libraries to a program.
function(fedsinkhorn_add_module program folder)
  get_target_property(link fedsinkhorn_${folder} FEDSINKHORN_LINK)
  target_sources(${program} PRIVATE $<TARGET_OBJECTS:fedsinkhorn_${folder}>)
  target_link_libraries(${program} PRIVATE ${link})
endfunction()

# fedsinkhorn-static: for our own programs and tests. fedsinkhorn (shared): what is installed; its dependencies are its
# own business, so that find_package(fedsinkhorn) needs nothing else.
function(fedsinkhorn_library)
  get_property(objects GLOBAL PROPERTY FEDSINKHORN_OBJECTS)
  get_property(link GLOBAL PROPERTY FEDSINKHORN_LINK)
  list(REMOVE_DUPLICATES link)

  add_library(fedsinkhorn-static STATIC ${objects})
  set_target_properties(fedsinkhorn-static PROPERTIES OUTPUT_NAME fedsinkhorn-static)
  target_include_directories(fedsinkhorn-static PUBLIC ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(fedsinkhorn-static PUBLIC ${link} Threads::Threads)

  add_library(fedsinkhorn SHARED ${objects})
  add_library(fedsinkhorn::fedsinkhorn ALIAS fedsinkhorn)
  set_target_properties(fedsinkhorn PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_include_directories(fedsinkhorn PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(fedsinkhorn PRIVATE ${link} Threads::Threads)
  target_compile_features(fedsinkhorn PUBLIC cxx_std_20)
  if(FEDSINKHORN_SANITIZE)
    target_link_options(fedsinkhorn PRIVATE -fsanitize=${FEDSINKHORN_SANITIZE})
  endif()

  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(TARGETS fedsinkhorn EXPORT fedsinkhorn-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT fedsinkhorn-targets NAMESPACE fedsinkhorn:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fedsinkhorn)
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/fedsinkhorn-config-version.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/fedsinkhorn-config.cmake
                ${PROJECT_BINARY_DIR}/fedsinkhorn-config-version.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fedsinkhorn)

  # For those who build without CMake. Relative to itself, so that an installed tree can be moved.
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
             OUTPUT_VARIABLE FEDSINKHORN_PC_TO_PREFIX)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/fedsinkhorn.pc.in ${PROJECT_BINARY_DIR}/fedsinkhorn.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/fedsinkhorn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
