# Every dependency, and why, is listed in docs/dependencies.md. All are Debian packages.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost REQUIRED)
find_package(Threads REQUIRED)
if(FEDSINKHORN_MPI)
  set(MPI_CXX_SKIP_MPICXX ON) # the old C++ bindings: unused, and full of warnings
  find_package(MPI QUIET COMPONENTS CXX)
endif()

# These come without (usable) CMake packages: find header and library, make a target.
function(fedsinkhorn_find name header library)
  find_path(${name}_INCLUDE ${header} PATH_SUFFIXES ${ARGN} REQUIRED)
  if(FEDSINKHORN_PORTABLE)
    find_library(${name}_LIBRARY lib${library}.a PATH_SUFFIXES ${ARGN})
  endif()
  find_library(${name}_LIBRARY ${library} PATH_SUFFIXES ${ARGN} REQUIRED)
  add_library(${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${name} SYSTEM INTERFACE ${${name}_INCLUDE})
  target_link_libraries(${name} INTERFACE ${${name}_LIBRARY})
endfunction()
# OpenBLAS without threads, and a copy of our own whose symbols nobody else sees: a host's OpenBLAS, NumPy's perhaps, and
# its number of threads stay as they are. Calls at the same time need a lock: see src/simd/gemm.cpp.
fedsinkhorn_find(openblas_serial cblas.h libopenblas.a openblas-serial)
if(NOT openblas_serial_LIBRARY MATCHES "serial")
  message(WARNING "${openblas_serial_LIBRARY} may have threads of its own, which would multiply with ours: "
                  "install libopenblas-serial-dev, or set openblas_serial_LIBRARY to an OpenBLAS without threads")
endif()
target_link_options(openblas_serial INTERFACE LINKER:--exclude-libs,libopenblas.a LINKER:--wrap=blas_memory_alloc
                                       LINKER:--wrap=blas_memory_free)
fedsinkhorn_find(mpfr mpfr.h mpfr)
fedsinkhorn_find(sodium sodium.h sodium)
fedsinkhorn_find(csv csv.h csv)
fedsinkhorn_find(gmp gmp.h gmp)
fedsinkhorn_find(hwy hwy/highway.h hwy)
add_library(hwy::hwy ALIAS hwy)

# What there is no static library of goes into lib/ beside the programs, who look for it there.
if(FEDSINKHORN_PORTABLE)
  set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
  set(CMAKE_INSTALL_RPATH "$ORIGIN/lib:$ORIGIN/../lib")
  add_link_options(-static-libstdc++ -static-libgcc)
  get_target_property(fmt_file fmt::fmt LOCATION)
  set(carried ${hwy_LIBRARY} ${fmt_file})
  list(FILTER carried INCLUDE REGEX "\\.so")
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  foreach(library ${carried})
    file(REAL_PATH ${library} file)
    get_filename_component(soname ${file} NAME)
    string(REGEX REPLACE "(\\.so\\.[0-9]+).*" "\\1" soname ${soname})
    file(COPY_FILE ${file} ${PROJECT_BINARY_DIR}/lib/${soname})
  endforeach()
endif()
