# The instruction sets compiled in, from the least to the most demanding, and their flags.
# src/dispatch/dispatch.cpp holds the same order with the question to ask the CPU.
set(REGARD_ISAS generic)
set(REGARD_FLAGS_generic "")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  list(APPEND REGARD_ISAS avx2 avx512)
  set(REGARD_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi2)
  set(REGARD_FLAGS_avx512 ${REGARD_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl
                          -mavx512cd)
endif()

# regard_isa_objects(name isa sources...): an object library of kernel code for one ISA; it lives
# in namespace regard::<isa>. Contraction is off because it differs from one tile width to the
# next: fma is written out.
function(regard_isa_objects name isa)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE REGARD_ISA=${isa} REGARD_PRIM="prim/${isa}.h")
  target_compile_options(${name} PRIVATE
    ${REGARD_FLAGS_${isa}} -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math
    -fno-exceptions -fno-rtti -fno-stack-protector
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # false alarms in GCC 12's own headers
  regard_flags(${name})
endfunction()
