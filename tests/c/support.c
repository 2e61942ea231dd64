#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int failed = 0;

void check_fact(int holds, const char* fact, const char* file, int line) {
  if (holds) return;
  printf("%s:%d: not true: %s\n", file, line, fact);
  ++failed;
}

void check_ok(regard_code code, const regard_status* status, const char* file, int line) {
  if (code == REGARD_OK && status->code == REGARD_OK && status->message[0] == '\0') return;
  printf("%s:%d: %s: %s\n", file, line, regard_code_name(code), status->message);
  ++failed;
}

void check_refused(const regard_status* status, regard_code code, const char* sentence) {
  if (status->code == code && strcmp(status->message, sentence) == 0) return;
  printf("expected %s: %s\n     got %s: %s\n", regard_code_name(code), sentence,
         regard_code_name(status->code), status->message);
  ++failed;
}

int failures(void) {
  if (failed > 0) printf("%d checks failed\n", failed);
  return failed > 0;
}

int near(double a, double b, double allowed) {
  return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= allowed;
}
