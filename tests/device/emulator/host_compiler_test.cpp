#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <set>
#include <thread>

#include "emulator_for_tests.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

namespace tconv {
namespace {

constexpr const char* k_source = "extern \"C\" __global__ void answer(int* out) { out[0] = ANSWER; }";

CompileRequest answer(int value) {
    CompileRequest request = request_for(k_source, {"answer"});
    request.options = {"-DANSWER=" + std::to_string(value)};
    return request;
}

int answer_of(const CompiledCode& code) {
    const auto device = make_emulator();
    const auto module = device->load(code);
    const Buffer<int> out(*device, 1);
    launch(*device, *module, "answer", {}, out.pointer());
    return out.values()[0];
}

/// A compiler that counts how often it is asked to compile, and a cache of its own.
class CountingCompiler {
public:
    CountingCompiler() {
        std::ofstream script(script_path());
        script << "#!/bin/sh\ncase \"$1\" in --version) ;; *) echo run >> '" << log_path() << "' ;; esac\nexec '"
               << real_ << "' \"$@\"\n";
        script.close();
        chmod(script_path().c_str(), 0700);
    }
    [[nodiscard]] std::string script_path() const { return (folder_.path() / "compiler").string(); }
    [[nodiscard]] int runs() const {
        std::ifstream log(log_path());
        int count = 0;
        for (std::string line; std::getline(log, line);)
            ++count;
        return count;
    }
    [[nodiscard]] std::filesystem::path cache() const { return folder_.path() / "cache"; }

private:
    [[nodiscard]] std::string log_path() const { return (folder_.path() / "runs").string(); }

    test::ScratchFolder folder_;
    std::string real_ = host_compiler_status().path;
    ScopedVariable cache_variable_{"TCONV_CACHE", cache().string()};
    ScopedVariable compiler_variable_{"TCONV_CXX", script_path()};
};

}  // namespace

TEST_CASE("the system's compiler is found and named") {
    const HostCompilerStatus status = host_compiler_status();
    REQUIRE(status.available);
    CHECK(status.reason.empty());
    CHECK(std::filesystem::exists(status.path));
    CHECK(make_host_compiler()->version() == status.version);
}

TEST_CASE("a compiler that cannot be used is refused with the reason") {
    const ScopedVariable variable("TCONV_CXX", "/nonexistent/c++");
    const HostCompilerStatus status = host_compiler_status();
    CHECK_FALSE(status.available);
    CHECK_THAT(status.reason, contains("TCONV_CXX") && contains("/nonexistent/c++"));
    CHECK_THROWS_AS(make_host_compiler(), Error);
}

TEST_CASE("a program that is no compiler is refused") {
    const ScopedVariable variable("TCONV_CXX", "/bin/false");
    CHECK_FALSE(host_compiler_status().available);
}

TEST_CASE("a source that does not compile is a result with the compiler's messages") {
    const auto compiler = make_host_compiler();
    CompileRequest request =
        request_for("int first;\nextern \"C\" __global__ void broken() { undeclared = 1; }", {"broken"});
    const CompileResult result = compiler->compile(request);
    CHECK_FALSE(result.ok);
    CHECK(result.code.code.empty());
    CHECK_THAT(result.log, contains("test.cu:2") && contains("undeclared"));
    request = request_for("extern \"C\" __global__ void here() {}", {"absent"});
    CHECK_THAT(compiler->compile(request).log, contains("absent"));
}

TEST_CASE("kernel and file names cannot smuggle text into the source") {
    const auto compiler = make_host_compiler();
    CHECK_THROWS_AS(compiler->compile(request_for("", {"k(); }"})), Error);
    CHECK_THROWS_AS(compiler->compile(request_for("", {"1k"})), Error);
    CHECK_THROWS_AS(compiler->compile(request_for("", {""})), Error);
    CompileRequest request = request_for("", {});
    request.name = "a\"\nint x;";
    CHECK_THROWS_AS(compiler->compile(request), Error);
}

TEST_CASE("the same text and options are compiled once, any other anew") {
    const CountingCompiler counting;
    const auto compiler = make_host_compiler();
    const CompileResult first = compiler->compile(answer(1));
    REQUIRE(first.ok);
    CHECK(counting.runs() == 1);
    const CompileResult again = compiler->compile(answer(1));
    CHECK(again.ok);
    CHECK(again.code.code == first.code.code);
    CHECK(make_host_compiler()->compile(answer(1)).code.code == first.code.code);
    CHECK(counting.runs() == 1);
    const CompileResult other = compiler->compile(answer(2));
    CHECK(counting.runs() == 2);
    CHECK(answer_of(first.code) == 1);
    CHECK(answer_of(other.code) == 2);
    CompileRequest failing = answer(3);
    failing.source = "nonsense";
    CHECK_FALSE(compiler->compile(failing).ok);
    CHECK_FALSE(compiler->compile(failing).ok);
    CHECK(counting.runs() == 4);
}

TEST_CASE("a damaged object is not loaded and is compiled again") {
    const CountingCompiler counting;
    const auto compiler = make_host_compiler();
    const std::string path = compiler->compile(answer(4)).code.code;
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    CHECK_THAT(failure_of([&] { answer_of({path}); }), contains("damaged"));
    const CompileResult again = compiler->compile(answer(4));
    CHECK(counting.runs() == 2);
    CHECK(answer_of(again.code) == 4);
}

TEST_CASE("code is loaded only from a folder that is this user's alone") {
    const CountingCompiler counting;
    const std::string path = make_host_compiler()->compile(answer(5)).code.code;
    CHECK_THAT(failure_of([&] { answer_of({path + "x"}); }), contains("is not there"));
    chmod(counting.cache().c_str(), 0777);
    CHECK_THAT(failure_of([&] { answer_of({path}); }), contains("can be written by others"));
    chmod(counting.cache().c_str(), 0700);
    CHECK(answer_of({path}) == 5);
}

TEST_CASE("several threads compile at the same time") {
    const CountingCompiler counting;
    const auto compiler = make_host_compiler();
    std::vector<CompileResult> results(8);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < results.size(); ++i) {
        threads.emplace_back([&, i] { results[i] = compiler->compile(answer(static_cast<int>(i / 2))); });
    }
    for (std::thread& thread : threads)
        thread.join();
    std::set<std::string> paths;
    for (std::size_t i = 0; i < results.size(); ++i) {
        REQUIRE(results[i].ok);
        paths.insert(results[i].code.code);
        CHECK(answer_of(results[i].code) == static_cast<int>(i / 2));
    }
    CHECK(paths.size() == 4);
}

TEST_CASE("nothing but the compiled code stays behind") {
    const test::ScratchFolder temporary;
    const CountingCompiler counting;
    const auto compiler = make_host_compiler();
    {
        const ScopedVariable variable("TMPDIR", temporary.path().string());
        CHECK(compiler->compile(answer(6)).ok);
    }
    CHECK(std::filesystem::is_empty(temporary.path()));
    const auto files = std::distance(std::filesystem::directory_iterator(counting.cache()), {});
    CHECK(files == 1);
}

}  // namespace tconv
