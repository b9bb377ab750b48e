#include "bench/cudnn/peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <mutex>
#include <set>
#include <thread>

#include "core/error.hpp"

namespace tconv::cudnn {
namespace {

// A fused bias makes most engines compile their kernel, which takes a second each, and is seldom the fastest way: the
// best few of the quick heuristics have to do.
constexpr std::size_t k_most_fused = 8;

/// An operation graph of one variant; its configurations refer to it.
struct VariantGraph {
    Variant variant;
    std::string name;
    Graph graph;
};

struct Offer {
    std::shared_ptr<const VariantGraph> graph;
    EngineConfig config;
};

std::string description_of(const Offer& offer) {
    return fmt::format("{}, {}", name_of(offer.config), offer.graph->name);
}

class PeerOffers final : public CudnnOffers {
public:
    PeerOffers(std::shared_ptr<Session> session, const Problem& problem, const CudnnRequest& request)
        : session_(std::move(session)), problem_(problem), request_(request) {
        const Context::Current current(session_->context);
        const auto graphs = make_graphs();
        for (const Heuristics heuristics : k_heuristics) {
            for (const auto& graph : graphs) {
                if (graph->variant.fused_bias && heuristics != Heuristics::quick) continue;
                take(graph, to_string(heuristics),
                     [&] { return engine_configs(session_->library, graph->graph, heuristics, nullptr); });
            }
        }
        for (const auto& graph : graphs) {
            if (!graph->variant.fused_bias) take(graph, "all engines", [&] { return unlisted_configs(graph); });
        }
    }

    std::size_t size() const override { return offers_.size(); }
    std::string description(std::size_t index) const override { return description_of(offers_.at(index)); }
    using CudnnOffers::build;
    std::vector<CudnnBuild> build(std::size_t first, std::size_t count) override;
    const CudnnCounts& counts() const override { return counts_; }
    const std::vector<std::string>& refusals() const override { return refusals_; }

private:
    [[nodiscard]] std::vector<std::shared_ptr<const VariantGraph>> make_graphs();
    template <class Source>
    void take(const std::shared_ptr<const VariantGraph>& graph, const char* source, Source&& configs);
    void judge(const std::shared_ptr<const VariantGraph>& graph, EngineConfig&& config);
    [[nodiscard]] std::vector<EngineConfig> unlisted_configs(const std::shared_ptr<const VariantGraph>& graph) const;
    [[nodiscard]] CudnnBuild build_one(const Offer& offer, void* handle);

    std::shared_ptr<Session> session_;
    Problem problem_;
    CudnnRequest request_;
    std::vector<Offer> offers_;
    std::set<std::string> seen_;                                             // descriptions
    std::set<std::pair<const VariantGraph*, std::int64_t>> listed_engines_;  // by the heuristics
    std::mutex mutex_;                                                       // of the counts
    CudnnCounts counts_;
    std::vector<std::string> refusals_;
};

std::vector<std::shared_ptr<const VariantGraph>> PeerOffers::make_graphs() {
    std::vector<std::shared_ptr<const VariantGraph>> graphs;
    for (const Variant& variant : variants_of(problem_, request_.layout)) {
        const std::string name = name_of(variant, problem_);
        try {
            const Convolution convolution = convolution_of(problem_, variant.tensors, variant.weight);
            Graph graph =
                make_graph(session_->library, session_->handle(), convolution, problem_.dtype, variant.fused_bias);
            graphs.push_back(std::make_shared<const VariantGraph>(VariantGraph{variant, name, std::move(graph)}));
        } catch (const Error& error) {
            refusals_.push_back(fmt::format("{}: {}", name, error.what()));
        }
    }
    return graphs;
}

template <class Source>
void PeerOffers::take(const std::shared_ptr<const VariantGraph>& graph, const char* source, Source&& configs) {
    try {
        std::vector<EngineConfig> found = configs();
        if (graph->variant.fused_bias) found.resize(std::min(found.size(), k_most_fused));
        for (EngineConfig& config : found)
            judge(graph, std::move(config));
    } catch (const Error& error) {
        refusals_.push_back(fmt::format("{}, {}: {}", source, graph->name, error.what()));
    }
}

void PeerOffers::judge(const std::shared_ptr<const VariantGraph>& graph, EngineConfig&& config) {
    ++counts_.listed;
    listed_engines_.emplace(graph.get(), config.engine);
    Offer offer{graph, std::move(config)};
    if (!seen_.insert(description_of(offer)).second) {
        ++counts_.repeated;
    } else if (!allowed(offer.config.notes, problem_.dtype, request_.math)) {
        ++counts_.against_rule;
    } else {
        offers_.push_back(std::move(offer));
    }
}

std::vector<EngineConfig> PeerOffers::unlisted_configs(const std::shared_ptr<const VariantGraph>& graph) const {
    std::vector<EngineConfig> configs = default_configs(session_->library, graph->graph, nullptr);
    std::erase_if(configs, [&](const EngineConfig& config) {
        return listed_engines_.contains({graph.get(), config.engine});
    });
    return configs;
}

std::vector<CudnnBuild> PeerOffers::build(std::size_t first, std::size_t count) {
    assert(first + count <= offers_.size());
    std::vector<CudnnBuild> builds(count);
    // A handle serves one thread at a time.
    const std::vector<std::shared_ptr<void>>& handles = session_->handles_for(count);
    std::atomic<std::size_t> next = 0;
    const auto work = [&](void* handle) {
        for (std::size_t i = next++; i < count; i = next++)
            builds[i] = build_one(offers_[first + i], handle);
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(count, handles.size()); ++i)
        threads.emplace_back(work, handles[i].get());
    work(handles.front().get());
    threads.clear();
    return builds;
}

CudnnBuild PeerOffers::build_one(const Offer& offer, void* handle) {
    try {
        const Context::Current current(session_->context);
        Plan plan(session_->library, handle, nullptr, offer.config);
        if (plan.workspace_bytes() > request_.workspace_limit) {
            const std::lock_guard lock(mutex_);
            ++counts_.over_limit;
            return {std::nullopt, fmt::format("needs a workspace of {} bytes, above the limit of {}",
                                              plan.workspace_bytes(), request_.workspace_limit)};
        }
        // The plan's graph lives as long as the plan.
        const auto call = std::make_shared<Call>(session_, problem_, offer.graph->variant, std::move(plan));
        Runnable runnable;
        runnable.description = description_of(offer);
        runnable.workspace_bytes = call->workspace_bytes();
        runnable.deterministic = !offer.config.notes.nondeterministic;
        // Transforms, a bias added after rounding.
        runnable.exact_on_integers = false;
        const auto run_packed = [call, graph = offer.graph, config = offer.config](const CallTensors& tensors) {
            call->run_packed(tensors);
        };
        runnable.launch = run_packed;
        runnable.packed_weight_bytes = call->packed_weight_bytes();
        if (runnable.packed_weight_bytes > 0) {
            runnable.pack = [call](const CallTensors& tensors) { call->pack(tensors); };
            runnable.launch_packed = run_packed;
            runnable.launch = [pack = runnable.pack, run_packed](const CallTensors& tensors) {
                pack(tensors);
                run_packed(tensors);
            };
        }
        return {std::move(runnable), {}};
    } catch (const Error& error) {
        const std::lock_guard lock(mutex_);
        ++counts_.failed;
        return {std::nullopt, error.what()};
    }
}

class Peer final : public Cudnn {
public:
    explicit Peer(std::shared_ptr<Session> session) : session_(std::move(session)) {}

    const CudnnStatus& status() const override { return session_->library.status(); }

    std::unique_ptr<CudnnOffers> offers(const Problem& problem, const CudnnRequest& request) override {
        validate(problem);
        if (const std::string reason = inexpressible(problem); !reason.empty())
            throw Error(ErrorKind::bad_input, reason);
        return std::make_unique<PeerOffers>(session_, problem, request);
    }

private:
    std::shared_ptr<Session> session_;
};

}  // namespace

std::unique_ptr<Cudnn> make_peer(Device& device, Builder& builder, const Library& library, const Context& context) {
    return std::make_unique<Peer>(std::make_shared<Session>(device, builder, library, context));
}

std::vector<Variant> variants_of(const Problem& problem, CudnnLayout layout) {
    const Layout tensors =
        (problem.layout == Layout::nhwc) == (layout == CudnnLayout::same) ? Layout::nhwc : Layout::nchw;
    std::vector<Layout> weights{tensors};
    // Engines for channels last want the weight so too; some take it channels first.
    if (tensors == Layout::nhwc) weights.push_back(Layout::nchw);
    std::vector<Variant> variants;
    for (const Layout weight : weights) {
        if (problem.bias) variants.push_back({tensors, weight, true});
        variants.push_back({tensors, weight, false});
    }
    return variants;
}

}  // namespace tconv::cudnn
