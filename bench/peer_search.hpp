#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/cudnn/cudnn.hpp"
#include "bench/mode.hpp"
#include "tuner/runnable.hpp"
#include "tuner/timer.hpp"
#include "tuner/validator.hpp"

namespace tconv {

/// The library that tconv is compared with.
struct Peer {
    Cudnn* library = nullptr;
    std::string reason;                                    ///< why there is none, one sentence
    std::int64_t workspace_limit = std::int64_t{1} << 30;  ///< bytes that one of its plans may ask for
    /// The weights are laid out before the calls, also where tconv's are packed in each.
    bool weights_prepared = false;
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
    std::string reason;       ///< why there is none, one sentence
};

/// Whether the peer's calls find its weights laid out as it wants them. So they do in channels-last problems: an
/// application that keeps its tensors so keeps its weights so too.
[[nodiscard]] bool keeps_weights(const Peer& peer, const Problem& problem);

/// Builds and times everything that the peer's library offers for the validator's problem, in its own layout and in the
/// other one with transpositions, and validates the fastest until `count` of them are right. Stops early, with what it
/// has, when asked to.
[[nodiscard]] PeerFinalists search_peer(const Peer& peer, Mode mode, Device& device, Validator& validator, Timer& timer,
                                        std::size_t count, const std::stop_token& stop);

}  // namespace tconv
