// `tconv cache export` and `tconv cache import` as a user meets them.

#include "cache/database.hpp"
#include "core/hash.hpp"
#include "tests/catch.hpp"
#include "tests/tools/process.hpp"

using namespace tconv;
using namespace tconv::tests;

namespace {

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

void store_some_trials(const std::filesystem::path& path, int count) {
    DeviceInfo device;
    device.kind = DeviceKind::cuda;
    device.name = "Some GPU";
    Database database(path, OpenMode::read_write);
    for (int i = 0; i < count; ++i) {
        Trial trial;
        trial.problem.spatial_axes = 1;
        trial.problem.input = {1, 1, 4};
        trial.template_name = "direct";
        trial.template_hash = content_hash("t");
        trial.config = {{"number", i}};
        trial.outcome.binary_key = content_hash("b");
        database.record(device, trial, "code");
    }
}

void check_bad_input(const Finished& finished, const std::string& part) {
    INFO(finished.err);
    CHECK(finished.exit_code == 2);
    CHECK(finished.out.empty());
    CHECK(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
    CHECK(holds(finished.err, part));
}

}  // namespace

TEST_CASE("cache export and import say what they carried") {
    const tconv::test::ScratchFolder folder;
    store_some_trials(folder / "here.db", 3);
    const Finished out =
        run_tconv({"cache", "export", folder.file("a"), "--database", folder.file("here.db")}, folder.path());
    INFO(out.err);
    REQUIRE(out.exit_code == 0);
    CHECK(holds(out.out, "exported 3 trials of 1 problem, machine code of 1 trial, 0 compiled kernels: "));
    CHECK(holds(out.out, " to " + folder.file("a") + "\n"));
    const std::vector<std::string> import{"cache", "import", folder.file("a"), "--database", folder.file("there.db")};
    const Finished in = run_tconv(import, folder.path());
    INFO(in.err);
    REQUIRE(in.exit_code == 0);
    CHECK(holds(in.out, "new are 3 of 3 trials, 1 of 1 problem, 0 of 0 compiled kernels"));
    const Finished again = run_tconv(import, folder.path());
    CHECK(holds(again.out, "new are 0 of 3 trials, 0 of 1 problem, 0 of 0 compiled kernels"));
    const Finished list = run_tconv({"cache", "list", "--database", folder.file("there.db")}, folder.path());
    CHECK(holds(list.out, "Some GPU"));
}

TEST_CASE("cache export and import refuse with one line") {
    const tconv::test::ScratchFolder folder;
    store_some_trials(folder / "t.db", 1);
    const std::string database = folder.file("t.db");
    const std::string before = read_file(folder / "t.db");
    const auto run = [&](std::vector<std::string> words) { return run_tconv(words, folder.path()); };
    check_bad_input(run({"cache"}), "export or import");
    check_bad_input(run({"cache", "export"}), "file");
    check_bad_input(run({"cache", "export", folder.file("a"), "--database", folder.file("no.db")}), "does not exist");
    check_bad_input(run({"cache", "export", database, "--database", database}), "no archive");
    check_bad_input(run({"cache", "export", folder.file("no/a"), "--database", database}), "no/a");
    check_bad_input(run({"cache", "export", folder.file("a"), "--best", "-1"}), "--best (-1)");
    check_bad_input(run({"cache", "export", folder.file("a"), "--best", "1", "--only-code"}), "--only-code");
    check_bad_input(run({"cache", "export", folder.file("a"), "--no-code", "--only-code"}), "nothing to export");
    check_bad_input(run({"cache", "import", folder.file("a"), "--database", database}), "does not exist");
    check_bad_input(run({"cache", "import", database, "--database", database}), "tconv cache export");
    CHECK(read_file(folder / "t.db") == before);
    CHECK_FALSE(std::filesystem::exists(folder / "a"));
}

TEST_CASE("compiled code travels alone where that is asked") {
    const tconv::test::ScratchFolder folder;
    const Finished out = run_tconv({"cache", "export", folder.file("a"), "--only-code"}, folder.path());
    INFO(out.err);
    CHECK(out.exit_code == 0);
    CHECK(holds(out.out, "exported 0 compiled kernels: "));
    // Nothing was tuned here yet, so it is the same without the flag.
    CHECK(run_tconv({"cache", "export", folder.file("a")}, folder.path()).out == out.out);
    const Finished in = run_tconv({"cache", "import", folder.file("a")}, folder.path());
    CHECK(in.exit_code == 0);
    CHECK(holds(in.out, "0 of 0 trials"));
}
