#include "device/nvrtc/nvrtc.hpp"

#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

namespace {

using namespace tconv;

CompileRequest request_for(const std::string& architecture) {
    CompileRequest request;
    request.name = "scale.cu";
    request.source = R"(extern "C" __global__ void scale(float* data, float by) { data[threadIdx.x] *= by; })";
    request.kernels = {"scale"};
    request.architecture = architecture;
    return request;
}

}  // namespace

TEST_CASE("NVRTC says where it is and which version") {
    const NvrtcStatus status = nvrtc_status();
    INFO(status.reason);
    REQUIRE(status.available);
    CHECK_FALSE(status.path.empty());
    CHECK(make_nvrtc_compiler()->version() == "NVRTC " + status.version);
}

TEST_CASE("a kernel becomes machine code of the architecture asked for") {
    const auto compiler = make_nvrtc_compiler();
    std::set<std::string> images;
    for (const char* architecture : {"sm_80", "sm_90a"}) {
        const CompileResult result = compiler->compile(request_for(architecture));
        INFO(result.log);
        REQUIRE(result.ok);
        CHECK(result.code.code.substr(0, 4) ==
              "\x7f"
              "ELF");
        CHECK(result.code.code.find("scale") != std::string::npos);
        CHECK(result.milliseconds > 0);
        images.insert(result.code.code);
    }
    CHECK(images.size() == 2);
}

TEST_CASE("a virtual architecture gives PTX") {
    const CompileResult result = make_nvrtc_compiler()->compile(request_for("compute_80"));
    REQUIRE(result.ok);
    CHECK_THAT(result.code.code, contains(".target sm_80") && contains("scale"));
}

TEST_CASE("the same request gives the same machine code") {
    const auto compiler = make_nvrtc_compiler();
    CHECK(compiler->compile(request_for("sm_80")).code.code == compiler->compile(request_for("sm_80")).code.code);
}

TEST_CASE("a mistake in the source is a result with the compiler's message") {
    CompileRequest request = request_for("sm_80");
    request.source += "\nint oops(;\n";
    const CompileResult result = make_nvrtc_compiler()->compile(request);
    CHECK_FALSE(result.ok);
    CHECK(result.code.code.empty());
    CHECK_THAT(result.log, contains("scale.cu(2): error"));
}

TEST_CASE("options reach the compiler one string each") {
    CompileRequest request = request_for("sm_80");
    request.source = R"(extern "C" __global__ void scale(int* data) { data[0] = VALUE; })";
    CHECK_FALSE(make_nvrtc_compiler()->compile(request).ok);
    request.options = {"-DVALUE=1 + 2"};
    CHECK(make_nvrtc_compiler()->compile(request).ok);
}

TEST_CASE("an architecture that NVRTC does not know is an error that names it") {
    CHECK_THROWS_WITH(make_nvrtc_compiler()->compile(request_for("sm_12345")),
                      contains("sm_12345") && contains("scale.cu"));
}

TEST_CASE("eight threads compile at once") {
    const auto compiler = make_nvrtc_compiler();
    std::vector<CompileResult> results(8);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < results.size(); ++t) {
        threads.emplace_back([&, t] {
            CompileRequest request = request_for("sm_90a");
            if (t % 2 == 1) request.source += " error here;";
            results[t] = compiler->compile(request);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    for (std::size_t t = 0; t < results.size(); ++t)
        CHECK(results[t].ok == (t % 2 == 0));
    CHECK(results[0].code.code == results[6].code.code);
}

// Opened once a process: CTest runs this case in a process of its own.
TEST_CASE("a named library that is not there is said at once") {
    setenv("TCONV_NVRTC", "/nonexistent/libnvrtc.so", 1);
    const NvrtcStatus status = nvrtc_status();
    CHECK_FALSE(status.available);
    CHECK_THAT(status.reason, contains("/nonexistent/libnvrtc.so"));
    try {
        (void)make_nvrtc_compiler();
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unavailable);
    }
}
