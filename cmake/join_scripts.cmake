# cmake "-DSCRIPTS=file;file;..." -DOUTPUT=file -P join_scripts.cmake
# One script of several; their names are visible to each other and to nobody else.
set(text "(() => {\n'use strict';\n")
foreach(script ${SCRIPTS})
  file(READ ${script} part)
  string(APPEND text "${part}")
endforeach()
file(WRITE ${OUTPUT} "${text}})();\n")
