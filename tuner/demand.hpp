#pragma once

#include <limits>

namespace tconv {

/// What is asked of a config beside its family's own rules. Without limits: any valid config.
struct Demand {
    double tolerance =
        std::numeric_limits<double>::infinity();  ///< largest error that a config may be expected to have
    bool strict = false;                          ///< plain fp32 arithmetic (or better) alone
    double compile_seconds =
        std::numeric_limits<double>::infinity();  ///< longest that its compilation may be guessed to take
};

/// What a family's file says of a valid config before it is built.
struct Expectation {
    double error = 0;            ///< largest relative error; 0: as exact as plain fp32 arithmetic
    bool strict = true;          ///< plain fp32 arithmetic (or better) alone
    double compile_seconds = 0;  ///< guessed; 0: not worth a word
    double time = 0;             ///< guessed, in any unit: tells configs of one space apart; 0: no guess
};

}  // namespace tconv
