#pragma once

namespace CLI {
class App;
}

namespace tconv {

/// Declares `quarantine list` and `quarantine clear` below the cache command.
void add_cache_quarantine_commands(CLI::App& cache);

}  // namespace tconv
