# cmake -DNPM=npm -DSOURCE=folder -DFOLDER=folder -P fetch_charts.cmake
# Writes FOLDER/charts.js: Apache ECharts with its licence; empty, with a warning, if it cannot be had.
file(MAKE_DIRECTORY ${FOLDER})
file(WRITE ${FOLDER}/charts.js "")
if(NOT NPM)
  return()
endif()
file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json DESTINATION ${FOLDER})
execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
                WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output
                TIMEOUT 300)
set(library ${FOLDER}/node_modules/echarts)
if(NOT status EQUAL 0 OR NOT EXISTS ${library}/dist/echarts.min.js)
  message(WARNING "Reports will have no charts: npm could not fetch their library:\n${output}")
  return()
endif()
configure_file(${library}/LICENSE ${FOLDER}/charts-LICENSE COPYONLY)
configure_file(${library}/NOTICE ${FOLDER}/charts-NOTICE COPYONLY)
file(COPY_FILE ${library}/dist/echarts.min.js ${FOLDER}/charts.js)
