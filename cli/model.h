// Attention of a real model: queries, keys and values that a sentence encoder made of a sentence.
#pragma once

#include "report.h"

namespace regard::cli {

/// Computes it for the shipped layers, compares with the oracle and with the weights that the
/// model's own framework gave, and shows what a few words read.
void show_model(Report& report);

}  // namespace regard::cli
