// `tconv cache quarantine`, `verify` and `prune` as a user meets them.

#include <algorithm>

#include "cache/database.hpp"
#include "core/hash.hpp"
#include "tests/catch.hpp"
#include "tests/tools/process.hpp"

using namespace tconv;
using namespace tconv::tests;

namespace {

using Words = std::vector<std::string>;

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

DeviceInfo some_gpu() {
    DeviceInfo device;
    device.kind = DeviceKind::cuda;
    device.name = "Some GPU";
    return device;
}

/// Two layers with a crash and a timeout each, beside one right trial and one that the compiler refused.
void fill(const std::filesystem::path& path) {
    Database database(path, OpenMode::read_write);
    for (const std::string& name : {std::string("first"), std::string("second")}) {
        Trial trial;
        trial.problem.spatial_axes = 1;
        trial.problem.input = {1, 1, static_cast<std::int64_t>(name.size())};
        trial.problem_name = name;
        trial.template_name = "direct";
        trial.template_hash = content_hash("t");
        trial.driver_version = "13.0";
        trial.compiler_version = "NVRTC 13.1";
        std::int64_t number = 0;
        for (const OutcomeKind kind :
             {OutcomeKind::valid, OutcomeKind::compile_error, OutcomeKind::crashed, OutcomeKind::timeout}) {
            trial.config = {{"number", number++}};
            trial.outcome.kind = kind;
            trial.outcome.reason = "it\n\x1b[31mfailed";
            database.record(some_gpu(), trial, {});
        }
    }
}

struct Scene {
    tconv::test::ScratchFolder folder;
    std::string database = folder.file("t.db");

    Scene() { fill(database); }
    [[nodiscard]] Finished run(Words words) const {
        words.insert(words.begin(), "cache");
        words.insert(words.end(), {"--database", database});
        return run_tconv(words, folder.path());
    }
};

std::ptrdiff_t lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
}

void check_bad_input(const Finished& finished, const std::string& part) {
    INFO(finished.err);
    CHECK(finished.exit_code == 2);
    CHECK(finished.out.empty());
    CHECK(lines(finished.err) == 1);
    CHECK(holds(finished.err, part));
}

}  // namespace

TEST_CASE("cache quarantine list shows each failure on one line, with its environment") {
    const Scene scene;
    const Finished all = scene.run({"quarantine", "list"});
    INFO(all.out << all.err);
    REQUIRE(all.exit_code == 0);
    CHECK(lines(all.out) == 5);
    CHECK(all.out.find('\x1b') == std::string::npos);
    for (const std::string& part : {std::string("crashed"), std::string("timeout"), std::string("first"),
                                    std::string("second"), std::string("direct number=2"),
                                    std::string("driver 13.0, NVRTC 13.1, template ") + content_hash("t").substr(0, 8),
                                    std::string("Some GPU"), std::string(" s ")})
        CHECK(holds(all.out, part));
    CHECK_FALSE(holds(all.out, "compile_error"));
    CHECK(lines(scene.run({"quarantine", "list", "--problem", "first"}).out) == 3);
    CHECK(lines(scene.run({"quarantine", "list", "--problem", "sec", "--outcome", "timeout"}).out) == 2);
    CHECK(lines(scene.run({"quarantine", "list", "--outcome", "compile_error"}).out) == 3);
    CHECK(scene.run({"quarantine", "list", "--outcome", "out_of_bounds"}).out == "the quarantine is empty\n");
}

TEST_CASE("cache quarantine clear removes what was asked for and says how much") {
    const Scene scene;
    const Finished one = scene.run({"quarantine", "clear", "--problem", "first", "--outcome", "crashed"});
    CHECK(one.exit_code == 0);
    CHECK(one.out == "1 trial removed from the quarantine: the next tconv tune may try them again\n");
    CHECK(holds(scene.run({"quarantine", "clear"}).out, "3 trials removed"));
    CHECK(scene.run({"quarantine", "clear"}).out == "0 trials removed from the quarantine\n");
    CHECK(scene.run({"quarantine", "list"}).out == "the quarantine is empty\n");
    CHECK(Database(scene.database, OpenMode::read_only).list().size() == 2);
}

TEST_CASE("bad arguments of cache quarantine, verify and prune are one line and exit code 2") {
    const Scene scene;
    const std::string before = read_file(scene.database);
    check_bad_input(run_tconv({"cache", "quarantine"}, scene.folder.path()), "list or clear");
    check_bad_input(scene.run({"quarantine", "burn"}), "burn");
    for (const char* const command : {"list", "clear"}) {
        check_bad_input(scene.run({"quarantine", command, "--outcome", "valid"}), "--outcome (valid) must be");
        check_bad_input(scene.run({"quarantine", command, "--outcome", "dead"}), "--outcome (dead) must be");
        check_bad_input(scene.run({"quarantine", command, "--problem", "third"}), "problem (third)");
        check_bad_input(scene.run({"quarantine", command, "--problem", ""}), "problem ()");
        check_bad_input(scene.run({"quarantine", command, "extra"}), "extra");
        const std::string absent = scene.folder.file("absent.db");
        check_bad_input(run_tconv({"cache", "quarantine", command, "--database", absent}, scene.folder.path()),
                        "absent.db' does not exist");
    }
    for (const char* const command : {"verify", "prune"}) {
        const std::string absent = scene.folder.file("absent.db");
        check_bad_input(run_tconv({"cache", command, "--database", absent}, scene.folder.path()), "does not exist");
        check_bad_input(scene.run({command, "extra"}), "extra");
        CHECK_FALSE(std::filesystem::exists(absent));
    }
    CHECK(read_file(scene.database) == before);
}

TEST_CASE("before the first tuning there is nothing to list, clear, verify or prune, and nothing is made") {
    const tconv::test::ScratchFolder folder;
    for (const Words& words :
         {Words{"quarantine", "list"}, Words{"quarantine", "clear"}, Words{"verify"}, Words{"prune"}}) {
        Words all{"cache"};
        all.insert(all.end(), words.begin(), words.end());
        const Finished finished = run_tconv(all, folder.path());
        CHECK(finished.exit_code == 0);
        CHECK(holds(finished.out, "nothing tuned yet"));
    }
    CHECK_FALSE(std::filesystem::exists(folder / ".local"));
}

TEST_CASE("cache verify tells a sound database from a damaged one") {
    const Scene scene;
    const Finished sound = scene.run({"verify"});
    CHECK(sound.exit_code == 0);
    CHECK(sound.out == "read 8 trials of 2 problems, 0 plans, machine code of 0 kernels\nsound\n");
    {
        Database database(scene.database, OpenMode::read_write);
        Trial trial;
        trial.template_name = "name that is no identifier";
        trial.config = {{"no identifier", 1}};
        database.record(some_gpu(), trial, {});
    }
    const Finished damaged = scene.run({"verify"});
    INFO(damaged.out);
    CHECK(damaged.exit_code == 1);
    CHECK(damaged.err.empty());
    CHECK(holds(damaged.out, "damaged: trial 9: config parameter 'no identifier' is no identifier\n1 damage\n"));
}

TEST_CASE("cache prune removes stale trials when asked, and no winner") {
    const Scene scene;
    const Finished nothing = scene.run({"prune"});
    CHECK(nothing.exit_code == 0);
    CHECK(holds(nothing.out, "removed 0 trials, machine code of 0 kernels, 0 problems: "));
    const Finished stale = scene.run({"prune", "--stale"});
    INFO(stale.out << stale.err);
    CHECK(stale.exit_code == 0);
    CHECK(holds(stale.out, "removed 8 trials, machine code of 0 kernels, 2 problems: "));  // none has a plan: none wins
    CHECK(scene.run({"verify"}).exit_code == 0);
}
