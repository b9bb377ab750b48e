#include "bench/peer_search.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace tconv {
namespace {

constexpr std::size_t k_built_at_once = 32;
constexpr std::size_t k_kept = 24;  // timed and still in memory: what is faster and wrong must not leave nothing

class PeerSearch {
public:
    PeerSearch(bool weights_kept, Mode mode, Device& device, Validator& validator, Timer& timer,
               const std::stop_token& stop)
        : weights_kept_(weights_kept),
          mode_(mode),
          device_(device),
          validator_(validator),
          timer_(timer),
          stop_(stop) {}

    /// All that is offered, or what `only` names.
    void look_at(const Peer& peer, CudnnLayout layout, const std::set<std::string>& only) {
        CudnnRequest request;
        request.math = mode_ == Mode::tf32 ? CudnnMath::tf32 : CudnnMath::strict;
        request.layout = layout;
        request.workspace_limit = peer.workspace_limit;
        const auto offers = peer.library->offers(validator_.problem(), request);
        result_.offered += static_cast<std::int64_t>(offers->size());
        if (!only.empty()) {
            for (std::size_t i = 0; i < offers->size() && !stop_.stop_requested(); ++i) {
                if (only.contains(offers->description(i))) take(offers->build(i));
            }
            return;
        }
        // Building and timing by turns: neither may disturb the other.
        for (std::size_t first = 0; first < offers->size() && !stop_.stop_requested(); first += k_built_at_once) {
            for (CudnnBuild& build : offers->build(first, std::min(k_built_at_once, offers->size() - first)))
                take(std::move(build));
        }
        for (const std::string& refusal : offers->refusals())
            last_reason_ = refusal;
    }

    PeerFinalists finish(std::size_t count) {
        for (PeerFinalists::Finalist& timed : timed_) {
            if (result_.finalists.size() == count) break;
            if (is_right(timed)) result_.finalists.push_back(std::move(timed));
        }
        if (result_.finalists.empty()) {
            result_.reason =
                result_.offered == 0
                    ? "cuDNN offers no engine for it"
                    : fmt::format("none of the {} ways that cuDNN offers runs and is right", result_.offered);
            if (!last_reason_.empty()) result_.reason += fmt::format(" ({})", last_reason_);
        }
        return std::move(result_);
    }

    void refuse(const std::string& reason) { fail(reason); }

private:
    void take(CudnnBuild&& build) {
        if (build.runnable) {
            time(std::move(*build.runnable));
        } else {
            fail(build.reason);
        }
    }

    void fail(const std::string& reason) {
        ++result_.failed;
        last_reason_ = reason;
    }

    void time(Runnable runnable) {
        const double best = timed_.empty() ? 0 : timed_.front().milliseconds;
        try {
            const CallTensors tensors =
                validator_.timing_tensors(runnable.workspace_bytes, runnable.packed_weight_bytes);
            Runnable timed = runnable;
            if (weights_kept_) keep_packed(timed, tensors);
            timed.launch(tensors);  // untimed: a library brings its kernels to the device at their first launch
            const Timing timing = timer_.time(replayed(device_, timed, tensors), best);
            const auto place = std::find_if(timed_.begin(), timed_.end(),
                                            [&](const auto& t) { return t.milliseconds > timing.median; });
            timed_.insert(place, {std::move(runnable), 0, timing.median});
            if (timed_.size() > k_kept) timed_.pop_back();
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::device) throw;
            fail(error.what());
        }
    }

    bool is_right(PeerFinalists::Finalist& timed) {
        Outcome outcome;
        validator_.validate(timed.runnable, tolerance_of(mode_), outcome);
        timed.error = outcome.error.relative;
        if (outcome.kind == OutcomeKind::valid) return true;
        fail(fmt::format("{}: {}", timed.runnable.description, outcome.reason));
        if (result_.refused.empty()) {
            result_.refused =
                fmt::format("{}, {:.4f} ms: {}", timed.runnable.description, timed.milliseconds, outcome.reason);
        }
        return false;
    }

    bool weights_kept_;
    Mode mode_;
    Device& device_;
    Validator& validator_;
    Timer& timer_;
    const std::stop_token& stop_;
    PeerFinalists result_;
    std::vector<PeerFinalists::Finalist> timed_;  // fastest first
    std::string last_reason_;
};

}  // namespace

KnownWays::KnownWays(const std::vector<BenchRun>& runs) {
    for (const BenchRun& run : runs) {
        for (const BenchResult& result : run.results) {
            if (result.peer) ways_[{key(result.problem), result.mode == Mode::tf32}].insert(result.peer->description);
        }
    }
}

const std::set<std::string>& KnownWays::of(const Problem& problem, Mode mode) const {
    static const std::set<std::string> none;
    const auto found = ways_.find({key(problem), mode == Mode::tf32});
    return found == ways_.end() ? none : found->second;
}

PeerFinalists search_peer(const Peer& peer, Mode mode, Device& device, Validator& validator, Timer& timer,
                          std::size_t count, const std::stop_token& stop) {
    const auto search_among = [&](const std::set<std::string>& only) {
        PeerSearch search(peer.weights_prepared, mode, device, validator, timer, stop);
        for (const CudnnLayout layout : {CudnnLayout::same, CudnnLayout::other}) {
            try {
                search.look_at(peer, layout, only);
            } catch (const Error& error) {
                if (error.kind() != ErrorKind::bad_input) throw;
                search.refuse(error.what());
            }
        }
        return search.finish(count);
    };
    const std::set<std::string>& known = peer.known.of(validator.problem(), mode);
    if (!known.empty()) {
        PeerFinalists found = search_among(known);
        if (!found.finalists.empty()) return found;
    }
    return search_among({});
}

}  // namespace tconv
