// Prints claims that were checked, with the figures that decide them, and counts them.
#pragma once

#include <string>

#include "command.h"

namespace regard::cli {

class Report {
 public:
  /// "  PASS  claim" and the figures on a line below.
  void claim(bool holds, const std::string& what, const std::string& figures);
  /// Counts a claim that the caller prints.
  void count(bool holds);

  int claims() const { return claims_; }
  int failed() const { return failed_; }
  int exit_code() const { return failed_ == 0 ? kFine : kCheckFailed; }

 private:
  int claims_ = 0;
  int failed_ = 0;
};

}  // namespace regard::cli
