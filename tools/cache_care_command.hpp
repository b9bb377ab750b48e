#pragma once

namespace CLI {
class App;
}

namespace tconv {

/// Declares `verify` and `prune` below the cache command.
void add_cache_care_commands(CLI::App& cache, int& exit_code);

}  // namespace tconv
