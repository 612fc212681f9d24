# What reports are made with, embedded into the program: our own script and style, and a chart library, which npm brings
# as src/report/web/package-lock.json says. Without npm, or without a network, reports have tables alone and say so.
option(FEDSINKHORN_CHARTS "Fetch the chart library of reports with npm" ON)
find_program(FEDSINKHORN_NPM npm)
mark_as_advanced(FEDSINKHORN_NPM)

function(fedsinkhorn_embed_web target)
  set(web ${PROJECT_SOURCE_DIR}/src/report/web)
  set(folder ${PROJECT_BINARY_DIR}/web)
  set(npm "")
  if(FEDSINKHORN_CHARTS AND FEDSINKHORN_NPM)
    set(npm ${FEDSINKHORN_NPM})
  elseif(FEDSINKHORN_CHARTS)
    message(STATUS "Reports without charts: there is no npm")
  endif()
  add_custom_command(OUTPUT ${folder}/charts.js
                     COMMAND ${CMAKE_COMMAND} -DNPM=${npm} -DSOURCE=${web} -DFOLDER=${folder}
                             -P ${PROJECT_SOURCE_DIR}/cmake/fetch_charts.cmake
                     DEPENDS ${web}/package.json ${web}/package-lock.json ${PROJECT_SOURCE_DIR}/cmake/fetch_charts.cmake
                     COMMENT "Fetching the chart library of reports" VERBATIM)
  set(FEDSINKHORN_CHART_LIBRARY ${folder}/charts.js)
  set(FEDSINKHORN_PAGE_SCRIPT ${folder}/page.js)
  file(STRINGS ${web}/page.txt names)
  list(TRANSFORM names PREPEND ${web}/ OUTPUT_VARIABLE scripts)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${web}/page.txt)
  add_custom_command(OUTPUT ${folder}/page.js
                     COMMAND ${CMAKE_COMMAND} "-DSCRIPTS=${scripts}" -DOUTPUT=${folder}/page.js
                             -P ${PROJECT_SOURCE_DIR}/cmake/join_scripts.cmake
                     DEPENDS ${scripts} ${PROJECT_SOURCE_DIR}/cmake/join_scripts.cmake VERBATIM)
  set(FEDSINKHORN_PAGE_STYLE ${web}/page.css)
  set(source ${PROJECT_BINARY_DIR}/generated/web_assets.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/web_assets.cpp.in ${source} @ONLY)
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
                              OBJECT_DEPENDS "${folder}/charts.js;${folder}/page.js;${web}/page.css")
  target_sources(${target} PRIVATE ${source} ${folder}/charts.js ${folder}/page.js)
endfunction()
