# FEDSINKHORN_CUDA: finds nvcc, tries it, and makes CUDA a language of this build. Sets FEDSINKHORN_HAS_CUDA.

# nvcc that compiles C++20 with this C++ compiler for the architectures asked for; else says why there is none.
function(fedsinkhorn_find_nvcc reason)
  find_program(FEDSINKHORN_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(FEDSINKHORN_NVCC)
  if(CMAKE_CUDA_COMPILER)
    set(nvcc ${CMAKE_CUDA_COMPILER})
  elseif(DEFINED ENV{CUDACXX})
    set(nvcc $ENV{CUDACXX})
  elseif(FEDSINKHORN_NVCC)
    set(nvcc ${FEDSINKHORN_NVCC})
  else()
    set(${reason} "there is no nvcc" PARENT_SCOPE)
    return()
  endif()
  set(trial ${PROJECT_BINARY_DIR}/CMakeFiles/cuda_trial)
  file(WRITE ${trial}.cu "#include <concepts>\n#include <cuda_runtime.h>\n"
                         "static_assert(CUDART_VERSION >= 13000, \"CUDA 13 is needed, for loops in graphs\");\n"
                         "__global__ void nothing() {}\n")
  foreach(architecture ${CMAKE_CUDA_ARCHITECTURES})
    string(REGEX REPLACE "-.*" "" number ${architecture})
    execute_process(COMMAND ${nvcc} -std=c++20 -ccbin ${CMAKE_CUDA_HOST_COMPILER}
                            -gencode=arch=compute_${number},code=sm_${number} -c ${trial}.cu -o ${trial}.o
                    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT status EQUAL 0)
      set(${reason} "${nvcc} cannot compile for ${architecture}:\n${output}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(CMAKE_CUDA_COMPILER ${nvcc} CACHE FILEPATH "CUDA compiler")
endfunction()

set(FEDSINKHORN_HAS_CUDA false)
set_property(CACHE FEDSINKHORN_CUDA PROPERTY STRINGS AUTO COMPILER ON OFF)
# The backend takes longer to compile than all the rest: not for a machine that cannot run it.
set(devices none)
if(FEDSINKHORN_CUDA STREQUAL AUTO)
  file(GLOB devices /dev/nvidia[0-9]* /dev/dxg) # the latter: Windows Subsystem for Linux
endif()
if(NOT devices)
  message(STATUS "Built without CUDA: there is no device here (-DFEDSINKHORN_CUDA=COMPILER builds it all the same)")
elseif(FEDSINKHORN_CUDA)
  # The kernels need instructions of Hopper, which have code of their own: no other architecture runs it.
  set(CMAKE_CUDA_ARCHITECTURES 90a-real CACHE STRING "Architectures to compile CUDA for")
  if(NOT CMAKE_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  endif()
  fedsinkhorn_find_nvcc(why_not)
  if(NOT why_not)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    enable_language(CUDA)
    set(CMAKE_CUDA_STANDARD 20)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # which CMake 3.25.1 has not heard of
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(FEDSINKHORN_HAS_CUDA true)
  elseif(FEDSINKHORN_CUDA MATCHES "AUTO|COMPILER")
    message(STATUS "Built without CUDA: ${why_not}")
  else()
    message(FATAL_ERROR "FEDSINKHORN_CUDA is ${FEDSINKHORN_CUDA}, but ${why_not}")
  endif()
endif()
