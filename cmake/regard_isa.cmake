# The instruction sets to compile, from the least to the most demanding, and their flags.
# src/dispatch/dispatch.cpp asks the CPU for each.
set(REGARD_FLAGS_generic "")
set(REGARD_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi2)
set(REGARD_FLAGS_avx512 ${REGARD_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd)
set(every_isa generic)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  list(APPEND every_isa avx2 avx512)
endif()
set(REGARD_ISAS "${every_isa}" CACHE STRING "Instruction sets to compile, in this order")
set(REGARD_KERNEL_OPTIMISATION -O3 CACHE STRING "How their code is optimised, in every build type")
mark_as_advanced(REGARD_KERNEL_OPTIMISATION)

# The list for the code that names every ISA: "REGARD_ENTRY(generic) REGARD_ENTRY(avx2) ..."
list(TRANSFORM REGARD_ISAS REPLACE "(.+)" "REGARD_ENTRY(\\1)" OUTPUT_VARIABLE isa_macros)
string(JOIN " " REGARD_ISA_MACROS ${isa_macros})

# regard_isa_objects(name isa sources...): an object library of kernel code for one ISA; it lives
# in namespace regard::<isa>. Contraction is off because it differs from one tile width to the
# next: fma is written out.
function(regard_isa_objects name isa)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE REGARD_ISA=${isa} REGARD_PRIM="prim/${isa}.h")
  target_compile_options(${name} PRIVATE
    ${REGARD_FLAGS_${isa}} ${REGARD_KERNEL_OPTIMISATION}
    -ffp-contract=off -fno-math-errno -fno-trapping-math
    -fno-exceptions -fno-rtti -fno-stack-protector
    # False alarms in GCC 12's own headers.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-uninitialized>)
  regard_flags(${name})
endfunction()
