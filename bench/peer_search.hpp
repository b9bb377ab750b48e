#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "bench/cudnn/cudnn.hpp"
#include "bench/mode.hpp"
#include "bench/run.hpp"
#include "tuner/runnable.hpp"
#include "tuner/timer.hpp"
#include "tuner/validator.hpp"

namespace tconv {

/// The peer's fastest ways in earlier runs, by problem and arithmetic.
class KnownWays {
public:
    KnownWays() = default;
    explicit KnownWays(const std::vector<BenchRun>& runs);

    /// Descriptions; empty: the problem was not in the runs.
    [[nodiscard]] const std::set<std::string>& of(const Problem& problem, Mode mode) const;

private:
    std::map<std::pair<std::string, bool>, std::set<std::string>> ways_;  // of key and whether TF32 is allowed
};

/// The library that tconv is compared with.
struct Peer {
    Cudnn* library = nullptr;
    std::string reason;                                    ///< why there is none, one sentence
    std::int64_t workspace_limit = std::int64_t{1} << 30;  ///< bytes that one of its plans may ask for
    /// The weights are laid out before the calls, also where tconv's are packed in each.
    bool weights_prepared = false;
    /// Where it knows some for a problem the others are not built; where none of those runs and is right all are.
    KnownWays known;
};

/// The peer's fastest right ways of computing a problem.
struct PeerFinalists {
    struct Finalist {
        Runnable runnable;
        double error = 0;
        double milliseconds = 0;  ///< median of the search
    };
    std::vector<Finalist> finalists;  ///< fastest first; empty: none is right
    std::int64_t offered = 0;
    std::int64_t failed = 0;  ///< could not be built, failed, or were wrong
    std::string refused;      ///< the fastest that was wrong, how fast and why; empty: none was
    std::string reason;       ///< why there is none, one sentence
};

/// Builds and times everything that the peer's library offers for the validator's problem (or what is known to be its
/// best), in its own layout and in the other one with transpositions, and validates the fastest until `count` of them
/// are right. Stops early, with what it has, when asked to.
[[nodiscard]] PeerFinalists search_peer(const Peer& peer, Mode mode, Device& device, Validator& validator, Timer& timer,
                                        std::size_t count, const std::stop_token& stop);

}  // namespace tconv
