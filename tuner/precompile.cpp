#include "tuner/precompile.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "core/outcome.hpp"
#include "kernel_sources/sources.hpp"
#include "tuner/builder.hpp"
#include "tuner/compile_pool.hpp"
#include "tuner/contest.hpp"
#include "tuner/recall.hpp"
#include "tuner/trial_log.hpp"

namespace tconv {
namespace {

// A family's template speaks of its config, which only a prelude gives it; any other source is compiled as it stands.
bool needs_prelude(const std::string& source) {
    return source.find("config::") != std::string::npos;
}

using Clock = std::chrono::steady_clock;

// A session of many trials lays its search out for as many as a contest reckons with.
constexpr std::int64_t k_budget = std::numeric_limits<std::int64_t>::max();

/// Another compiler, counted. It has that one's version, so that the keys of the code cache are the same.
class CountedCompiler final : public Compiler {
public:
    explicit CountedCompiler(Compiler& compiler) : compiler_(compiler) {}

    [[nodiscard]] std::string version() const override { return compiler_.version(); }
    [[nodiscard]] CompileResult compile(const CompileRequest& request) override {
        CompileResult result = compiler_.compile(request);
        if (result.ok) ++compiled_;
        return result;
    }
    [[nodiscard]] std::int64_t compiled() const { return compiled_; }

private:
    Compiler& compiler_;
    std::atomic<std::int64_t> compiled_ = 0;
};

}  // namespace

struct Precompiler::Impl {
    CountedCompiler compiler;
    DeviceInfo device;
    const std::vector<SearchSpace>& spaces;
    Database* database;
    int threads;
    Builder builder;

    Impl(Compiler& real, const DeviceInfo& facts, const std::vector<SearchSpace>& all, Database* stored, int count)
        : compiler(real), device(facts), spaces(all), database(stored), threads(count), builder(compiler, device) {}

    /// Adds up what happened since `start`.
    [[nodiscard]] PrecompileResult result(std::int64_t candidates, std::int64_t refused, std::int64_t compiled_before,
                                          Clock::time_point start) const {
        PrecompileResult total;
        total.candidates = candidates;
        total.refused = refused;
        total.compiled = compiler.compiled() - compiled_before;
        total.found = candidates - refused - total.compiled;
        total.seconds = std::chrono::duration<double>(Clock::now() - start).count();
        return total;
    }
};

Precompiler::Precompiler(Compiler& compiler, const DeviceInfo& device, const std::vector<SearchSpace>& spaces,
                         Database* database, int threads)
    : impl_(std::make_unique<Impl>(compiler, device, spaces, database, threads)) {
    if (const std::string& warning = impl_->builder.warning(); !warning.empty()) throw Error(ErrorKind::cache, warning);
}

Precompiler::~Precompiler() = default;

PrecompileResult Precompiler::compile_fixed() {
    const auto start = Clock::now();
    const std::int64_t before = impl_->compiler.compiled();
    std::int64_t files = 0;
    for (const std::string& name : kernel_source_names()) {
        if (!name.ends_with(".cu") || needs_prelude(kernel_source(name))) continue;
        const CompileResult result = impl_->builder.build_file(name, {});
        if (!result.ok) throw Error(ErrorKind::compile, fmt::format("{} does not compile: {}", name, result.log));
        ++files;
    }
    return impl_->result(files, 0, before, start);
}

PrecompileResult Precompiler::compile(const PrecompileRequest& request,
                                      const std::function<void(std::int64_t)>& progress, const std::stop_token& stop) {
    const auto start = Clock::now();
    const std::int64_t before = impl_->compiler.compiled();
    const double tolerance = request.tolerance < 0 ? default_tolerance(request.problem.dtype) : request.tolerance;
    Contest contest(request.problem, impl_->device, impl_->spaces, request.seed, k_budget, tolerance, request.strict);
    TrialLog log(impl_->database, impl_->device, request.problem, tolerance, impl_->compiler.version(), request.strict);
    (void)recall_trials(log, contest);
    std::int64_t proposed = 0;
    std::int64_t done = 0;
    std::int64_t refused = 0;
    {
        CompilePool pool(impl_->builder, impl_->threads);
        bool more = true;
        while (!stop.stop_requested()) {
            while (more && proposed < request.candidates && pool.outstanding() < 2 * pool.threads()) {
                auto candidate = contest.next();
                more = candidate.has_value();
                if (!more) break;
                pool.submit(std::move(*candidate));
                ++proposed;
            }
            if (pool.outstanding() == 0) break;
            constexpr double patience = 0.1;  // then look at Ctrl-C
            const auto candidate = pool.take(patience);
            if (!candidate) continue;
            if (!impl_->builder.take(*candidate).ok) ++refused;
            progress(++done);
        }
    }
    PrecompileResult result = impl_->result(done, refused, before, start);
    result.warnings = log.warnings();
    return result;
}

}  // namespace tconv
