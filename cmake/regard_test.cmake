# Tests are compiled more often than they run long: at -O0 under sanitizers, which instrument all
# that is inlined (27 s against 7 s for the largest), else at -O1.
function(regard_test_flags name)
  regard_flags(${name})
  if(REGARD_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
  else()
    target_compile_options(${name} PRIVATE -O1)
  endif()
endfunction()

# regard_test(name SOURCES ... [LIBRARIES ...] [PER_ISA] [LOOPS file] [LABELS ...])
# One GoogleTest program. PER_ISA registers it once for every compiled ISA with REGARD_ISA set;
# where the CPU lacks that ISA the program says so and the test counts as skipped. With LOOPS, the
# file of src/isa that it tests, sanitizers leave out ISAs that take the loops of another.
function(regard_test name)
  cmake_parse_arguments(arg "PER_ISA" "LOOPS" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  regard_test_flags(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE regard_test_support ${arg_LIBRARIES})
  if(arg_PER_ISA)
    foreach(isa ${REGARD_ISAS})
      if(REGARD_SANITIZE AND arg_LOOPS AND NOT arg_LOOPS IN_LIST REGARD_SOURCES_${isa})
        continue()
      endif()
      add_test(NAME ${name}.${isa} COMMAND ${name})
      set_tests_properties(${name}.${isa} PROPERTIES
        ENVIRONMENT "REGARD_ISA=${isa}" SKIP_RETURN_CODE 77 LABELS "isa;${arg_LABELS}")
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS "${arg_LABELS}")
  endif()
endfunction()
