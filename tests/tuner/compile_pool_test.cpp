#include "tuner/compile_pool.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/emulated.hpp"
#include "tests/tuner/planted.hpp"
#include "tuner/search_space.hpp"

using namespace tconv;

namespace {

/// A compiler that throws an error of a kind.
class ThrowingCompiler final : public Compiler {
public:
    explicit ThrowingCompiler(ErrorKind kind) : kind_(kind) {}
    [[nodiscard]] std::string version() const override { return "none"; }
    [[nodiscard]] CompileResult compile(const CompileRequest&) override { throw Error(kind_, "it is gone"); }

private:
    ErrorKind kind_;
};

Candidate some_candidate(const DeviceInfo& device) {
    const std::vector<SearchSpace> spaces = load_search_spaces();
    const Problem problem = test::planted_problem();
    for (const SearchSpace& space : spaces) {
        const std::vector<Config> defaults = space.defaults(problem, device);
        if (defaults.empty()) continue;
        return {problem, space.name(), defaults.front(), space.plan(problem, device, defaults.front()), 1e-4, 0};
    }
    throw Error(ErrorKind::not_found, "no family has a default");
}

}  // namespace

TEST_CASE("a compiler that cannot run is the candidate's failure; one that is gone is an error to whom it concerns") {
    const DeviceInfo device = test::emulated().device->info();
    const Candidate candidate = some_candidate(device);
    ThrowingCompiler failing(ErrorKind::compile);
    Builder builder(failing, device);
    const CompileResult result = builder.take(candidate);
    CHECK(!result.ok);
    CHECK(result.log == "it is gone");

    ThrowingCompiler gone(ErrorKind::unavailable);
    Builder helpless(gone, device);
    CompilePool pool(helpless, 2);
    for (int i = 0; i < 4; ++i)
        pool.submit(candidate);
    for (int i = 0; i < 4; ++i)
        REQUIRE(pool.take(60).has_value());
    CHECK_THROWS_AS(helpless.take(candidate), Error);
    CHECK_THROWS_AS(helpless.take(candidate), Error);  // asked again, not remembered
}
