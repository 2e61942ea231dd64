/* Checks for tests in C: a failure is printed with its line, and counts. */
#ifndef REGARD_TESTS_C_SUPPORT_H
#define REGARD_TESTS_C_SUPPORT_H

#include "regard/regard.h"

#define REGARD_CHECK(fact) check_fact((fact) != 0, #fact, __FILE__, __LINE__)
#define REGARD_CHECK_OK(call, status) check_ok((call), &(status), __FILE__, __LINE__)

void check_fact(int holds, const char* fact, const char* file, int line);
/* The call gave REGARD_OK, and its status says the same. */
void check_ok(regard_code code, const regard_status* status, const char* file, int line);
/* `status` holds `code` and exactly this sentence. */
void check_refused(const regard_status* status, regard_code code, const char* sentence);

/* What main returns: 0 if no check failed. */
int failures(void);

/* Equal, both infinite or both NaN included, or apart by at most `allowed`. */
int near(double a, double b, double allowed);

#endif
