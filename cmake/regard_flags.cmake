# Flags that every target of this project is compiled with: regard_flags(target).
function(regard_flags target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
  if(REGARD_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(REGARD_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${REGARD_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all -g1)
    target_link_options(${target} PRIVATE -fsanitize=${REGARD_SANITIZE})
  endif()
endfunction()
