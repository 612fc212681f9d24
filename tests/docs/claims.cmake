# cmake -DSOURCE=<root of the sources> -P claims.cmake
# Sentences that were found untrue, or true only under conditions they did not name, must not come back.
cmake_minimum_required(VERSION 3.25)
set(untrue
  "[Ss]mall epsilon just works"          # it does not overflow; it may take very many iterations
  "u never leaves its owner"             # sums of its logarithm, its maximum and f do
  "rows may be its own secret"           # row-reduce shows summands in plain
  "[Cc]osts stay with their owner"       # files do; messages tell of them
  "without showing anybody an entry"     # the fingerprints are linear and not keyed
  "clients that keep their data"         # with policy open, rows follow from messages
  "[Tt]here are no secure sums"          # there are, with policy sums
  "[Ee]very run .?(still )?converges"    # not within every limit
  "[0-9]+ times faster to the solution") # accelerated against plain: name both
file(GLOB_RECURSE pages ${SOURCE}/docs/*.md ${SOURCE}/include/*.hpp ${SOURCE}/src/*.hpp)
list(APPEND pages ${SOURCE}/README.md ${SOURCE}/CHANGELOG.md ${SOURCE}/CONTRIBUTING.md)
set(found "")
foreach(page ${pages})
  file(READ ${page} text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  foreach(sentence ${untrue})
    if(text MATCHES "${sentence}")
      string(APPEND found "\n${page}: '${CMAKE_MATCH_0}'")
    endif()
  endforeach()
endforeach()
if(found)
  message(FATAL_ERROR "claims without their conditions:${found}")
endif()
