# Both checks of the structure pass on a small project that is in order, and fail on one that is not.
#   cmake -DSOURCE=<project> -DPYTHON=<python3> -DFOLDER=<scratch> -P violations.cmake
function(expect check folder status mention)
  execute_process(COMMAND ${PYTHON} ${SOURCE}/scripts/${check}.py ${folder} RESULT_VARIABLE result OUTPUT_VARIABLE output)
  if(NOT result EQUAL status OR NOT output MATCHES "${mention}")
    message(FATAL_ERROR "${check}.py ${folder}: status ${result} instead of ${status}, and it said: ${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
string(REPEAT "  ++x;\n" 80 body)
file(WRITE ${FOLDER}/good/src/solve/top.hpp "#include \"core/bottom.hpp\"\nvoid f(int x) {\n${body}}\n")
file(WRITE ${FOLDER}/good/src/core/bottom.hpp "// #include \"solve/top.hpp\"\nclass A {\n${body}${body}};\n")
expect(rooms ${FOLDER}/good 0 "rooms")
expect(function_length ${FOLDER}/good 0 "1 functions")

file(WRITE ${FOLDER}/bad/src/solve/top.hpp "class A {\n  void f(int x) const {\n  ++x;\n${body}  }\n};\n")
file(WRITE ${FOLDER}/bad/src/core/bottom.hpp "#include \"solve/top.hpp\"\n")
file(WRITE ${FOLDER}/bad/src/attic/old.hpp "\n")
expect(rooms ${FOLDER}/bad 1 "bottom.hpp:1: core must not include solve")
expect(rooms ${FOLDER}/bad 1 "attic is no room")
expect(function_length ${FOLDER}/bad 1 "top.hpp:2: 81 lines")
