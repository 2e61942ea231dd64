// regard.h is all that a C++11 program needs to include.
#include "regard/regard.h"

static_assert(sizeof(regard_code) == 4 && sizeof(regard_tensor) == 80, "sizes of the interface");
static_assert(sizeof(regard_status) == 516, "sizes of the interface");
