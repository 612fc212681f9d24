# Run by ctest; CMakeLists.txt beside this file sets the variables.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "'${command}' failed: ${status}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect pattern)
  if(NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "the output does not match '${pattern}'")
  endif()
  set(CMAKE_MATCH_1 "${CMAKE_MATCH_1}" PARENT_SCOPE)
  set(CMAKE_MATCH_2 "${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_FOLDER}) # nothing of an earlier run may help
set(prefix ${WORK_FOLDER}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD_FOLDER} --config ${CONFIGURATION} --prefix ${WORK_FOLDER}/first)
# Moved after it was installed: a package that still looks for its first place, or for the source tree, is found out.
file(RENAME ${WORK_FOLDER}/first ${prefix})

# A program that loads a library built with sanitizers needs their runtime as well.
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
# CMake gives the example an rpath to the library it is linked with: no LD_LIBRARY_PATH is needed.
run(${CMAKE_COMMAND} -S ${EXAMPLES_FOLDER} -B ${WORK_FOLDER}/examples -G ${GENERATOR}
    -D CMAKE_BUILD_TYPE=${CONFIGURATION} -D CMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${flags}"
    -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${WORK_FOLDER}/examples --verbose)

# Each sends 1/3 to the place nearest to it and 1/6 to the one between, at cost 1. The optimum is symmetric: f_0 = f_1.
run(${WORK_FOLDER}/examples/solve_small)
expect("^cost 0\\.333333, potentials f ([0-9.e+-]+) ([0-9.e+-]+)\n$")
if(NOT CMAKE_MATCH_1 STREQUAL CMAKE_MATCH_2)
  message(FATAL_ERROR "the potentials of the two sources differ")
endif()

# Points 0, 1, 2, 3 stay where they are, but for what epsilon blurs.
run(${WORK_FOLDER}/examples/solve_in_parts)
expect("^<P, C> = 0\\.000[0-9]*, by 3 clients\n$")

run(${prefix}/bin/fedsinkhorn --version)
expect("${VERSION}")

# The OpenBLAS inside is nobody else's: neither is that of the host called, nor does the host get ours.
run(${NM} -D ${prefix}/${LIBDIR}/libfedsinkhorn.so)
if(output MATCHES "[^\n]*(openblas_|blas_memory|cblas_|dgemm)[^\n]*")
  message(FATAL_ERROR "the library shares OpenBLAS with its host: ${CMAKE_MATCH_0}")
endif()

foreach(file ${DOCDIR}/LICENSE ${DATADIR}/fedsinkhorn/summary.schema.json ${DATADIR}/fedsinkhorn/scenario.json)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()

file(READ ${prefix}/${MANDIR}/man1/fedsinkhorn.1 output)
expect("[.]TH .*epsilon")
run(bash -n ${prefix}/${DATADIR}/bash-completion/completions/fedsinkhorn)
file(READ ${prefix}/${DATADIR}/bash-completion/completions/fedsinkhorn output)
expect("complete ")

# The same example without CMake.
set(pc_folder ${prefix}/${LIBDIR}/pkgconfig)
if(NOT EXISTS ${pc_folder}/fedsinkhorn.pc)
  message(FATAL_ERROR "fedsinkhorn.pc was not installed")
endif()
if(PKG_CONFIG)
  set(ENV{PKG_CONFIG_PATH} ${pc_folder})
  run(${PKG_CONFIG} --modversion fedsinkhorn)
  expect("^${VERSION}\n$")
  run(${PKG_CONFIG} --cflags --libs fedsinkhorn)
  string(STRIP "${output}" words)
  separate_arguments(words UNIX_COMMAND "${words}")
  run(${COMPILER} -std=c++20 ${flags} ${EXAMPLES_FOLDER}/solve_small.cpp -o ${WORK_FOLDER}/solve_small ${words}
      -Wl,-rpath,${prefix}/${LIBDIR})
  run(${WORK_FOLDER}/solve_small)
  expect("^cost 0\\.333333")
else()
  message("there is no pkg-config here: fedsinkhorn.pc was not tried")
endif()
