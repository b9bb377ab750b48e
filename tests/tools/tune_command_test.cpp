// Whole sessions of the built command on the emulator.

#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "device/emulator/emulator.hpp"
#include "tests/catch.hpp"
#include "tests/tools/process.hpp"

using namespace tconv::tests;

namespace {

using Words = std::vector<std::string>;

/// With trials enough for each family to have some: what is stored counts as known only then.
Words small_tune(const Words& more) {
    Words words{"tune",     "--input",  "1x2x6",    "--weight", "2x3x3",        "--stride", "2",
                "--device", "emulator", "--trials", "8",        "--time-limit", "5m"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Waits until the command has stored something, so that a signal finds it at work.
void wait_for(const std::filesystem::path& database, const std::filesystem::path& folder) {
    for (int attempt = 0; attempt < 1200; ++attempt) {
        if (std::filesystem::exists(database) && holds(read_file(folder / "stderr.txt"), "trials")) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

}  // namespace

TEST_CASE("tune finds a winner, keeps it, and reuses its trials") {
    if (!tconv::host_compiler_status().available) return;
    const tconv::test::ScratchFolder folder;
    const std::vector<std::string> one_family{"TCONV_SEARCH_SPACES=" TCONV_ONE_FAMILY};
    const Finished first = run_tconv(small_tune({"--json"}), folder.path(), one_family);
    INFO(first.err);
    REQUIRE(first.exit_code == 0);
    const auto document = nlohmann::json::parse(first.out);
    const auto& result = document["results"].at(0);
    CHECK(document["interrupted"] == false);
    CHECK(result["emulated"] == true);
    CHECK(result["winner"]["outcome"]["kind"] == "valid");
    CHECK(result["winner"]["outcome"]["error"]["relative"] <= 1e-4);
    const std::int64_t measured = result["trials_measured"];
    CHECK(measured >= 1);

    const Finished second = run_tconv(small_tune({"--json"}), folder.path(), one_family);
    REQUIRE(second.exit_code == 0);
    const auto again = nlohmann::json::parse(second.out)["results"][0];
    CHECK(again["trials_reused"] >= measured);
    CHECK(again["trials_measured"] == 0);

    const Finished list = run_tconv({"cache", "list"}, folder.path());
    CHECK(list.exit_code == 0);
    CHECK(holds(list.out, "1d n1 ci2 co3"));
    const Finished show = run_tconv({"cache", "show", "1d n1"}, folder.path());
    CHECK(show.exit_code == 0);
    CHECK(holds(show.out, "winner"));
}

TEST_CASE("the table labels emulated times, and stdout holds results alone") {
    if (!tconv::host_compiler_status().available) return;
    const tconv::test::ScratchFolder folder;
    const std::string database = (folder.path() / "here.db").string();
    const Finished finished = run_tconv(small_tune({"--database", database}), folder.path());
    INFO(finished.err);
    CHECK(finished.exit_code == 0);
    for (const std::string& part : {std::string("winner"), std::string("no GPU figure"),
                                    std::string("over the reference"), "stored in   " + database}) {
        INFO(finished.out);
        CHECK(holds(finished.out, part));
    }
    CHECK(holds(finished.err, "using the emulator, as asked; seed 1"));
}

TEST_CASE("layers of a file run one after the other") {
    if (!tconv::host_compiler_status().available) return;
    const tconv::test::ScratchFolder folder;
    write_file(folder.path() / "l.yaml",
               "g:\n  - {name: one, n: 1, c_in: 1, c_out: 1, input: [4], kernel: 2}\n"
               "  - {name: two, n: 1, c_in: 1, c_out: 2, input: [3, 3], kernel: 2, stride: 2}\n"
               "  - {name: three, n: 1, c_in: 1, c_out: 2, input: [3, 3], kernel: 2}\n");
    const Finished finished = run_tconv({"tune", "--layers", (folder.path() / "l.yaml").string(), "--only", "one,two",
                                         "--device", "emulator", "--trials", "1", "--time-limit", "5m"},
                                        folder.path());
    INFO(finished.err);
    CHECK(finished.exit_code == 0);
    CHECK(holds(finished.out, "one: 1-D"));
    CHECK(holds(finished.out, "two: 2-D"));
    CHECK_FALSE(holds(finished.out, "three"));
    CHECK(holds(run_tconv({"cache", "show", "two"}, folder.path()).out, "two: 2d n1"));
}

TEST_CASE("an interrupt keeps what was measured and ends with 130") {
    if (!tconv::host_compiler_status().available) return;
    const tconv::test::ScratchFolder folder;
    const auto database = folder.path() / "t.db";
    for (const int signal : {SIGINT, SIGTERM}) {
        const Finished finished =
            run_tconv({"tune", "--input", "2x8x12x12", "--weight", "8x6x3x3", "--device", "emulator", "--trials",
                       "100000", "--time-limit", "10m", "--json", "--database", database.string()},
                      folder.path(), {}, [&](pid_t child) {
                          wait_for(database, folder.path());
                          kill(child, signal);
                      });
        INFO(finished.err);
        CHECK(finished.exit_code == 130);
        const auto document = nlohmann::json::parse(finished.out);
        CHECK(document["interrupted"] == true);
        CHECK(document["results"].size() == 1);
    }
    CHECK(run_tconv({"cache", "list", "--database", database.string()}, folder.path()).exit_code == 0);
}
