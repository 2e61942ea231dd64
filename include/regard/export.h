// REGARD_API marks what the shared library exports; everything else is hidden.
#pragma once

#define REGARD_API __attribute__((visibility("default")))
