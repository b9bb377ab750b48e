#pragma once

#include <cstdlib>
#include <vector>

#include "cache/database.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/tuner/pretended_gpu.hpp"
#include "tuner/session.hpp"

namespace tconv::testing {

/// Sessions on a pretended GPU, of a family of plain fp32 arithmetic and one of tensor cores, with a database and a
/// code cache of their own.
struct PretendedScene {
    PretendedScene() {
        setenv("TCONV_CACHE", folder.path().c_str(), 1);
        spaces.push_back(accuracy_space("plain", "  - {tile: 4, math: 0, block: 64, depth: 2}\n", "[0]"));
        spaces.push_back(accuracy_space("tensor", "  - {tile: 4, math: 1, block: 64, depth: 2}\n", "[1, 2, 3]"));
    }
    PretendedScene(const PretendedScene&) = delete;
    PretendedScene& operator=(const PretendedScene&) = delete;
    ~PretendedScene() { unsetenv("TCONV_CACHE"); }

    TuneResult tune(double tolerance, bool strict, std::int64_t trials = 40, std::uint64_t seed = 1) {
        TuneRequest request;
        request.problem = test_problem();
        request.tolerance = tolerance;
        request.strict = strict;
        request.trials = trials;
        request.seed = seed;
        request.time_limit_seconds = 300;
        gpu.measured.clear();
        return tconv::tune(request, {gpu, &database, spaces, 1}, {}, {});
    }

    test::ScratchFolder folder;
    PretendedGpu gpu;
    std::vector<SearchSpace> spaces;
    Database database{folder / "tconv.db", OpenMode::read_write};
};

}  // namespace tconv::testing
