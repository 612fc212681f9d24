# cmake -DMODULE=file -DFOLDER=folder -P carry_libraries.cmake
# Copies the shared libraries that MODULE needs into FOLDER, but for those of every Linux with a C++ runtime.
file(REMOVE_RECURSE ${FOLDER})
file(GET_RUNTIME_DEPENDENCIES MODULES ${MODULE} RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
     PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s)\\.so" "^ld-linux")
if(missing)
  message(FATAL_ERROR "libraries that are not to be found: ${missing}")
endif()
foreach(library ${found})
  file(COPY ${library} DESTINATION ${FOLDER} FOLLOW_SYMLINK_CHAIN)
endforeach()
# The name that is asked for is a link; wheels have no links.
file(GLOB copies ${FOLDER}/*)
foreach(copy ${copies})
  if(IS_SYMLINK ${copy})
    file(REAL_PATH ${copy} file)
    file(REMOVE ${copy})
    file(COPY_FILE ${file} ${copy})
  endif()
endforeach()
# Of the two, the longer name is of no use now.
foreach(copy ${copies})
  if(copy MATCHES "\\.so\\.[0-9]+\\.")
    file(REMOVE ${copy})
  endif()
endforeach()
