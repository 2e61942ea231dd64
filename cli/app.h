// Names CLI11's class without its header, which is slow to compile.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}
