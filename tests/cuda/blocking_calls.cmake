# cmake -DSOURCE=<root of the sources> -P blocking_calls.cmake
# Fails if a source of the CUDA backend copies or clears on the default stream: the streams that compute do not wait for
# it (src/device/transfer.hpp). cudaDeviceSynchronize would break a recording that another client has under way.
file(GLOB_RECURSE sources ${SOURCE}/src/backend/cuda/* ${SOURCE}/src/device/* ${SOURCE}/tests/cuda/*.cu* ${SOURCE}/tests/cuda/*.hpp
     ${SOURCE}/bench/cuda/*.cu)
list(LENGTH sources count)
if(count LESS 40)
  message(FATAL_ERROR "only ${count} sources of the CUDA backend in ${SOURCE}")
endif()
set(found "")
foreach(source ${sources})
  set(forbidden "cudaMemcpy(2D|3D|ToSymbol|FromSymbol)? *\\(|cudaMemset(2D|3D)? *\\(")
  if(source MATCHES "/src/(backend/cuda|device)/")
    string(APPEND forbidden "|cudaDeviceSynchronize *\\(")
  endif()
  file(STRINGS ${source} lines REGEX "${forbidden}")
  foreach(line ${lines})
    string(APPEND found "\n${source}: ${line}")
  endforeach()
endforeach()
if(found)
  message(FATAL_ERROR "copies or clears that no stream orders; use device/transfer.hpp:${found}")
endif()
