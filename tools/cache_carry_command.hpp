#pragma once

namespace CLI {
class App;
}

namespace tconv {

/// Declares `export` and `import` below the cache command.
void add_cache_carry_commands(CLI::App& cache);

}  // namespace tconv
