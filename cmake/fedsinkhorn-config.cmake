include(${CMAKE_CURRENT_LIST_DIR}/fedsinkhorn-targets.cmake)
