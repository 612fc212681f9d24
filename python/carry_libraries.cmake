# cmake -DMODULE=file -DFOLDER=folder -DLICENCES=folder [-DINSIDE=file;...] [-DTEXTS=file;...] -P carry_libraries.cmake
# Copies the shared libraries that MODULE needs into FOLDER, but for those of every Linux with a C++ runtime. LICENCES
# gets the copyright files of the Debian packages that these are from, those of the packages of INSIDE (static libraries
# and headers that were compiled into MODULE), the licences that those only refer to, and TEXTS, where they exist.
# packages.txt there says which library is from which package.
file(REMOVE_RECURSE ${FOLDER} ${LICENCES})
file(MAKE_DIRECTORY ${FOLDER} ${LICENCES})
file(GET_RUNTIME_DEPENDENCIES MODULES ${MODULE} RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
     PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s)\\.so" "^ld-linux")
if(missing)
  message(FATAL_ERROR "libraries that are not to be found: ${missing}")
endif()
# The name that is asked for is a link; wheels have no links.
foreach(library ${found})
  get_filename_component(name ${library} NAME)
  file(REAL_PATH ${library} file)
  file(COPY_FILE ${file} ${FOLDER}/${name})
endforeach()

foreach(text ${TEXTS})
  if(EXISTS ${text})
    file(COPY ${text} DESTINATION ${LICENCES})
  endif()
endforeach()
find_program(DPKG dpkg)
if(NOT DPKG)
  message(WARNING "There is no dpkg: the licence texts of the libraries inside are left out. Add them to "
                  "${LICENCES} before you pass this on.")
  return()
endif()

# The name of the package that has a file; empty if there is none.
function(package_of file result)
  # Packages from before /bin, /lib and /usr were merged list their files without /usr.
  string(REGEX REPLACE "^/usr/" "/" short ${file})
  set(${result} "" PARENT_SCOPE)
  foreach(path ${file} ${short})
    execute_process(COMMAND ${DPKG} -S ${path} OUTPUT_VARIABLE answer ERROR_QUIET)
    if(answer MATCHES "(^|\n)([a-z0-9][a-z0-9+.-]*)(:[a-z0-9]+)?: /")
      set(${result} ${CMAKE_MATCH_2} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

set(common_licences /usr/share/common-licenses)
foreach(library ${found} ${INSIDE})
  get_filename_component(name ${library} NAME)
  file(REAL_PATH ${library} file)
  package_of(${file} package)
  set(copyright /usr/share/doc/${package}/copyright)
  if(package AND EXISTS ${copyright})
    file(REAL_PATH ${copyright} copyright)
    file(COPY_FILE ${copyright} ${LICENCES}/${package}.txt)
    file(APPEND ${LICENCES}/packages.txt "${name} ${package}\n")
    file(STRINGS ${copyright} references REGEX ${common_licences})
    string(REGEX MATCHALL "${common_licences}/[A-Za-z0-9.-]*[A-Za-z0-9]" references "${references}")
    foreach(reference ${references})
      file(COPY ${reference} DESTINATION ${LICENCES}/common-licenses FOLLOW_SYMLINK_CHAIN)
    endforeach()
  else()
    message(WARNING "No Debian package says under which licence ${library} is. Add the text to ${LICENCES} before you "
                    "pass this on.")
  endif()
endforeach()
