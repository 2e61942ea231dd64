# The instruction sets to compile, from the least to the most demanding, their flags and the files
# of src/isa. One without kernels of its own for a type is served by those before it. What each asks
# of the CPU is in src/dispatch/dispatch.cpp.
set(REGARD_COMPLETE direct_f32.cpp direct_f64.cpp tiles_bf16.cpp decode_f32.cpp decode_f64.cpp
    peak.cpp table.cpp)
set(REGARD_FLAGS_generic "")
set(REGARD_SOURCES_generic ${REGARD_COMPLETE})
set(REGARD_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi2)
set(REGARD_FLAGS_avx512 ${REGARD_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd)
set(REGARD_SOURCES_avx2 ${REGARD_COMPLETE})
set(REGARD_SOURCES_avx512 ${REGARD_COMPLETE})
set(REGARD_FLAGS_avx512_bf16 ${REGARD_FLAGS_avx512} -mavx512bf16 -mavx512vbmi)
set(REGARD_SOURCES_avx512_bf16 dot_bf16.cpp decode_bf16.cpp)
set(REGARD_FLAGS_amx ${REGARD_FLAGS_avx512_bf16} -mamx-tile -mamx-bf16)
set(REGARD_SOURCES_amx amx.cpp)
set(REGARD_FLAGS_neon "")  # every aarch64 has it
set(REGARD_SOURCES_neon ${REGARD_COMPLETE})
set(every_isa generic)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  list(APPEND every_isa avx2 avx512 avx512_bf16 amx)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  list(APPEND every_isa neon)
endif()
set(REGARD_ISAS "${every_isa}" CACHE STRING "Instruction sets to compile, in this order")
set(REGARD_KERNEL_OPTIMISATION -O3 CACHE STRING "How their code is optimised, in every build type")
mark_as_advanced(REGARD_KERNEL_OPTIMISATION)
list(GET REGARD_ISAS 0 first_isa)
if(NOT "direct_f32.cpp" IN_LIST REGARD_SOURCES_${first_isa})
  message(FATAL_ERROR "REGARD_ISAS: ${first_isa} adds to another and cannot be the first")
endif()

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
