#include "tuner/workers/worker_compiler.hpp"

#include <set>
#include <thread>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

using namespace tconv;

namespace {

WorkerCompiler make_compiler(double compile_seconds = 60) {
    WorkerLimits limits;
    limits.compile_seconds = compile_seconds;
    limits.memory_bytes = std::int64_t{400} << 20;
    return {{TCONV_SCRIPTED_WORKER, "serve"}, limits};
}

CompileRequest asking(const std::string& source) {
    return {"test.cu", source, {}, "", {}};
}

}  // namespace

TEST_CASE("a compiler that does not start is an error at once") {
    CHECK_THROWS_WITH(WorkerCompiler({TCONV_SCRIPTED_WORKER, "greet-error"}, {}), contains("on holiday"));
    CHECK_THROWS_WITH(WorkerCompiler({"/no/such/program"}, {}), contains("/no/such/program"));
}

TEST_CASE("several threads compile at once, each in a process of its own, and some crash") {
    WorkerCompiler compiler = make_compiler();
    CHECK(compiler.version() == "scripted 1");
    constexpr int k_threads = 6;
    constexpr int k_requests = 12;
    std::vector<std::vector<CompileResult>> results(k_threads);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < k_threads; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; i < k_requests; ++i) {
                const bool crash = (i + thread) % 5 == 0;
                results[static_cast<std::size_t>(thread)].push_back(compiler.compile(
                    asking(crash ? "crash" : "source " + std::to_string(thread) + " " + std::to_string(i))));
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    for (int thread = 0; thread < k_threads; ++thread) {
        for (int i = 0; i < k_requests; ++i) {
            const CompileResult& result = results[static_cast<std::size_t>(thread)][static_cast<std::size_t>(i)];
            INFO("thread " << thread << ", request " << i << ": " << result.log);
            if ((i + thread) % 5 == 0) {
                CHECK(!result.ok);
                CHECK(result.failure == CompileFailure::crashed);
                CHECK_THAT(result.log, contains("signal 11"));
            } else {
                CHECK(result.ok);
                CHECK(result.code.code == "source " + std::to_string(thread) + " " + std::to_string(i));
            }
        }
    }
}

TEST_CASE("a compilation that never ends costs its request alone") {
    WorkerCompiler compiler = make_compiler(0.3);
    const CompileResult result = compiler.compile(asking("hang"));
    CHECK(!result.ok);
    CHECK(result.failure == CompileFailure::timed_out);
    CHECK_THAT(result.log, contains("compiling took longer than 0.3 s"));
    WorkerCompiler patient = make_compiler();
    CHECK(patient.compile(asking("nonsense")).failure == CompileFailure::crashed);
    CHECK(patient.compile(asking("fine")).ok);
}

TEST_CASE("a source that is refused, and a compiler that cannot run, are told apart") {
    WorkerCompiler compiler = make_compiler();
    const CompileResult refused = compiler.compile(asking("refused"));
    CHECK(!refused.ok);
    CHECK(refused.failure == CompileFailure::refused);
    try {
        (void)compiler.compile(asking("no compiler"));
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::compile);
        CHECK(std::string(error.what()) == "there is no compiler");
    }
}

TEST_CASE("one process serves one request after another until its memory has grown") {
    WorkerCompiler compiler = make_compiler();
    const std::string first = compiler.compile(asking("a")).log;
    CHECK(compiler.compile(asking("b")).log == first);
    CHECK(compiler.compile(asking("grow")).log == first);
    CHECK(compiler.compile(asking("c")).log != first);
}
