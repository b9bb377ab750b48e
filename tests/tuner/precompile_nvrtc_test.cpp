// Ahead-of-time compilation with the real compiler, which needs no GPU.

#include <cstdlib>

#include "device/nvrtc/nvrtc.hpp"
#include "tests/catch.hpp"
#include "tests/support/h200.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tuner/builder.hpp"
#include "tuner/contest.hpp"
#include "tuner/precompile.hpp"

using namespace tconv;

namespace {

/// Has NVRTC's version and compiles nothing.
class NoCompiler final : public Compiler {
public:
    explicit NoCompiler(std::string version) : version_(std::move(version)) {}
    [[nodiscard]] std::string version() const override { return version_; }
    [[nodiscard]] CompileResult compile(const CompileRequest&) override { return {}; }

private:
    std::string version_;
};

}  // namespace

TEST_CASE("a session of the same seed finds its kernels compiled") {
    const test::ScratchFolder folder;
    setenv("TCONV_CACHE", folder.path().c_str(), 1);
    Problem problem;
    problem.in_channels = 4;
    problem.out_channels = 3;
    problem.input = {1, 6, 6};
    problem.kernel = {1, 3, 3};
    problem.stride = {1, 2, 2};
    const auto spaces = load_search_spaces();
    const auto nvrtc = make_nvrtc_compiler();
    const auto compile = [&] {
        Precompiler precompiler(*nvrtc, test::h200(), spaces, nullptr, 0);
        return precompiler.compile({problem, -1, 3, 9}, [](std::int64_t) {}, {});
    };
    const PrecompileResult first = compile();
    CHECK(first.candidates == 3);
    CHECK(first.refused == 0);
    CHECK(first.compiled > 0);
    CHECK(compile().compiled == 0);

    NoCompiler none(nvrtc->version());
    Builder builder(none, test::h200());
    Contest contest(problem, test::h200(), spaces, 9, 200, 1e-4);
    for (int i = 0; i < 3; ++i) {
        const CompileResult result = builder.build(*contest.next());
        CHECK(result.ok);
        CHECK(result.code.code.size() > 100);
    }
    unsetenv("TCONV_CACHE");
}

TEST_CASE("the kernels that need no config compile for every architecture that is described") {
    const test::ScratchFolder folder;
    setenv("TCONV_CACHE", folder.path().c_str(), 1);
    const auto spaces = load_search_spaces();
    const auto nvrtc = make_nvrtc_compiler();
    for (const auto& [major, minor] : std::vector<std::pair<int, int>>{{8, 0}, {8, 9}, {9, 0}}) {
        DeviceInfo device = test::h200();
        device.compute_major = major;
        device.compute_minor = minor;
        Precompiler precompiler(*nvrtc, device, spaces, nullptr, 0);
        CHECK(precompiler.compile_fixed().compiled >= 2);
        CHECK(precompiler.compile_fixed().compiled == 0);
    }
    unsetenv("TCONV_CACHE");
}
