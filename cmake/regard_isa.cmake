# regard_isa(target name flags...): compiles the instantiations in src/isa for one ISA into
# `target`. Only these objects see the ISA's flags; their code lives in namespace regard::<name>.
# Contraction is off because it differs from one tile width to the next: fma is written out.
function(regard_isa target name)
  add_library(regard_isa_${name} OBJECT
    ${PROJECT_SOURCE_DIR}/src/isa/direct_f32.cpp
    ${PROJECT_SOURCE_DIR}/src/isa/direct_f64.cpp
    ${PROJECT_SOURCE_DIR}/src/isa/peak.cpp
    ${PROJECT_SOURCE_DIR}/src/isa/table.cpp)
  target_include_directories(regard_isa_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(regard_isa_${name} PRIVATE
    REGARD_ISA=${name} REGARD_PRIM="prim/${name}.h")
  target_compile_options(regard_isa_${name} PRIVATE
    ${ARGN} -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-exceptions -fno-rtti
    -fno-stack-protector
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # false alarms in GCC 12's own headers
  regard_flags(regard_isa_${name})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:regard_isa_${name}>)
endfunction()
