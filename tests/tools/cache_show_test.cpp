// `tconv cache show` as a user meets it.

#include "cache/database.hpp"
#include "core/hash.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/tools/process.hpp"

using namespace tconv;
using namespace tconv::tests;

namespace {

/// A layer with trials of these milliseconds, errors and strictness.
struct Scene {
    tconv::test::ScratchFolder folder;
    std::string database = folder.file("t.db");

    Scene() {
        Database stored(database, OpenMode::read_write);
        record(stored, 1, 1.0, 1e-3, false);
        record(stored, 2, 2.0, 2e-5, false);
        record(stored, 3, 3.0, 5e-5, false);  // slower and less accurate than 2: on no front
        record(stored, 4, 9.0, 4e-5, true);   // the fastest strict one
        record(stored, 5, 10.0, 1e-6, true);
        record(stored, 6, 11.0, 2e-6, true);
    }
    static void record(Database& stored, std::int64_t number, double milliseconds, double error, bool strict) {
        Trial trial;
        trial.problem.spatial_axes = 1;
        trial.problem.input = {1, 1, 9};
        trial.problem_name = "layer";
        trial.template_name = strict ? "direct" : "matrix";
        trial.template_hash = content_hash("t");
        trial.config = {{"number", number}};
        trial.strict = strict;
        trial.outcome.error.relative = error;
        trial.outcome.timing.samples = {milliseconds};
        trial.outcome.timing.median = milliseconds;
        DeviceInfo device;
        device.name = "Some GPU";
        stored.record(device, trial, {});
    }
    [[nodiscard]] std::string show(std::vector<std::string> more = {}) const {
        std::vector<std::string> words{"cache", "show", "layer", "--database", database};
        words.insert(words.end(), more.begin(), more.end());
        const Finished finished = run_tconv(words, folder.path());
        CHECK(finished.exit_code == 0);
        return finished.out;
    }
};

/// The lines from the head of the front on.
std::vector<std::string> front_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t at = text.find("  front");
    while (at < text.size()) {
        const std::size_t end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

}  // namespace

TEST_CASE("cache show prints what wins at some tolerance, freely or strictly, the fastest first") {
    const Scene scene;
    const std::vector<std::string> lines = front_lines(scene.show());
    REQUIRE(lines.size() == 5);
    const std::vector<std::vector<std::string>> wanted{{"1.000 ms", "1.0e-03", "no", "matrix number=1"},
                                                       {"2.000 ms", "2.0e-05", "no", "matrix number=2"},
                                                       {"9.000 ms", "4.0e-05", "yes", "direct number=4"},
                                                       {"10.00 ms", "1.0e-06", "yes", "direct number=5"}};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        for (const std::string& part : wanted[i])
            CHECK_THAT(lines[i + 1], contains(part));
    }
}

TEST_CASE("cache show has the winners of a tolerance, strict ones alone where that is asked") {
    const Scene scene;
    CHECK_THAT(scene.show(), contains("6 trials, 5 valid within 0.0001,"));
    CHECK_THAT(scene.show({"--tolerance", "1e-2"}), contains("6 trials, 6 valid within 0.01,"));
    const std::string strict = scene.show({"--strict"});
    CHECK_THAT(strict, contains("6 trials, 3 valid within 0.0001 in plain fp32 arithmetic,"));
    const std::size_t winner = strict.find("  winner");
    CHECK(strict.substr(winner, strict.find('\n', winner) - winner).find("direct number=4") != std::string::npos);
}
