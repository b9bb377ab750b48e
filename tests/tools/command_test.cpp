// The built command as a user meets it: exit codes, and one line on stderr for everything that is wrong.

#include "tests/catch.hpp"
#include "tests/tools/process.hpp"

using namespace tconv::tests;

namespace {

using Words = std::vector<std::string>;

const Words k_problem{"--input", "1x2x5", "--weight", "2x3x3"};

Words tune(const Words& more) {
    Words words{"tune"};
    words.insert(words.end(), k_problem.begin(), k_problem.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

/// Checks for exit code 2, nothing on stdout, and one line "tconv: ..." on stderr that holds `part`.
void check_bad_input(const Finished& finished, const std::string& part) {
    INFO(finished.err);
    INFO(part);
    CHECK(finished.exit_code == 2);
    CHECK(finished.out.empty());
    CHECK(finished.err.rfind("tconv: ", 0) == 0);
    CHECK(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
    CHECK(finished.err.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("version and help go to stdout and succeed") {
    const tconv::test::ScratchFolder folder;
    const Finished version = run_tconv({"--version"}, folder.path());
    CHECK(version.exit_code == 0);
    CHECK(version.out.rfind("tconv ", 0) == 0);
    CHECK(version.err.empty());
    for (const Words& words : std::vector<Words>{{"--help"},
                                                 {"tune", "--help"},
                                                 {"cache", "--help"},
                                                 {"cache", "show", "--help"},
                                                 {"cache", "quarantine", "--help"},
                                                 {"cache", "quarantine", "list", "--help"},
                                                 {"cache", "quarantine", "clear", "--help"},
                                                 {"cache", "verify", "--help"},
                                                 {"cache", "prune", "--help"},
                                                 {"cache", "export", "--help"},
                                                 {"cache", "import", "--help"},
                                                 {"compile", "--help"},
                                                 {"devices", "--help"},
                                                 {"spaces", "--help"}}) {
        const Finished help = run_tconv(words, folder.path());
        CHECK(help.exit_code == 0);
        CHECK(help.out.find("Usage: ") != std::string::npos);
        CHECK(help.err.empty());
    }
}

TEST_CASE("bad arguments end with code 2 and one line") {
    const tconv::test::ScratchFolder folder;
    const std::vector<std::pair<Words, std::string>> table{
        {{}, "no command given"},
        {{""}, "not expected"},
        {{"fly"}, "fly"},
        {{"--fly"}, "--fly"},
        {{"tune"}, "no problem given"},
        {{"tune", "extra"}, "extra"},
        {{"tune", "--input"}, "--input"},
        {{"tune", "--input", "1x2x5"}, "--weight is missing"},
        {{"tune", "--input", "", "--weight", "2x3x3"}, "--input ()"},
        {{"tune", "--input", "-1x2x5", "--weight", "2x3x3"}, "batch (-1)"},
        {{"tune", "--input", "0x2x5", "--weight", "2x3x3", "--device", "emulator"}, "batch (0)"},
        {{"tune", "--input", "1x2x5", "--weight", "3x2x3"}, "expected shape 2x3x3"},
        {{"tune", "--input", "1x2x5", "--input", "1x2x5"}, "--input"},
        {{"tune", "--input", "1x2x5\n6", "--weight", "2x3x3"}, "--input (1x2x5 6)"},
        {tune({"--stride", "-1"}), "stride (-1)"},
        {tune({"--stride", "0"}), "stride (0)"},
        {tune({"--padding", "99999999999999999999"}), "64 bits"},
        {tune({"--padding", "9223372036854775807"}), "64 bits"},
        {tune({"--trials", "0"}), "--trials (0)"},
        {tune({"--time-limit", "soon"}), "--time-limit (soon)"},
        {tune({"--seed", "-1"}), "--seed (-1)"},
        {tune({"--tolerance", "0"}), "--tolerance (0)"},
        {tune({"--dtype", "int"}), "dtype (int)"},
        {tune({"--layout", ""}), "layout ()"},
        {tune({"--device", "toaster"}), "--device (toaster)"},
        {tune({"--device", "cuda:"}), "--device"},
        {tune({"--device", "cuda:-1"}), "--device"},
        {tune({"--device", "cuda:99"}), "--device (cuda:99)"},
        {tune({"--layers", "x.yaml"}), "--layers"},
        {tune({"--only", "x"}), "--only"},
        {{"tune", "--layers", "/nonexistent.yaml"}, "/nonexistent.yaml"},
        {{"tune", "--layers", "/"}, "directory"},
        {{"bench"}, "no problem given"},
        {{"bench", "--from", "/nonexistent.json"}, "/nonexistent.json cannot be read"},
        {{"bench", "--compare", "/nonexistent.json"}, "/nonexistent.json cannot be read"},
        {{"bench", "--input", "1x2x5", "--weight", "2x3x3", "--modes", "fp64"}, "mode (fp64)"},
        {{"bench", "--input", "1x2x5", "--weight", "2x3x3", "--modes", "fp32,"}, "mode ()"},
        {{"bench", "--input", "1x2x5", "--weight", "2x3x3", "--layouts", "nchw,x"}, "layout (x)"},
        {{"bench", "--input", "1x2x5", "--weight", "2x3x3", "--tune-time", "soon"}, "--tune-time (soon)"},
        {{"bench", "--input", "1x2x5", "--weight", "2x3x3", "--cudnn-workspace", "-1"}, "--cudnn-workspace (-1)"},
        {{"bench", "--input", "1x2x5", "--weight", "2x3x3", "--weights", "some"}, "--weights (some)"},
        {tune({"--run-limit", "0"}), "--run-limit (0)"},
        {tune({"--compile-limit", "never"}), "--compile-limit (never)"},
        {tune({"--memory-limit", "1"}), "--memory-limit (1)"},
        {tune({"--device-memory-limit", "1"}), "--device-memory-limit (1)"},
        {{"cache"}, "no command given after cache"},
        {{"cache", "burn"}, "burn"},
        {{"cache", "show"}, "problem"},
        {{"cache", "show", "x"}, "problem (x)"},
        {{"spaces", "nothing"}, "search space (nothing)"},
        {{"spaces", "--input", "1x2x5"}, "--weight is missing"},
        {{"devices", "now"}, "now"},
    };
    for (const auto& [words, part] : table)
        check_bad_input(run_tconv(words, folder.path()), part);
}

TEST_CASE("a database that cannot be used ends with code 2, one line, and stays as it is") {
    const tconv::test::ScratchFolder folder;
    const auto path = [&](const char* name) { return (folder.path() / name).string(); };
    write_file(path("garbage.db"), std::string(5000, 'g'));
    write_file(path("text.db"), "not a database\n");
    std::filesystem::create_directory(path("folder.db"));
    const Words paths{path("garbage.db"), path("text.db"), path("folder.db"), "/proc/tconv.db"};
    for (const std::string& database : paths) {
        INFO(database);
        check_bad_input(run_tconv(tune({"--device", "emulator", "--database", database}), folder.path()), database);
        check_bad_input(run_tconv({"cache", "list", "--database", database}, folder.path()), database);
        check_bad_input(run_tconv({"cache", "show", "x", "--database", database}, folder.path()), database);
    }
    CHECK(read_file(path("garbage.db")) == std::string(5000, 'g'));
    CHECK(read_file(path("text.db")) == "not a database\n");
    const Finished no_folder = run_tconv(tune({"--device", "emulator", "--database", "/dev/null/t.db"}), folder.path());
    check_bad_input(no_folder, "/dev/null");
    check_bad_input(run_tconv({"cache", "list", "--database", path("missing/t.db")}, folder.path()), "missing/t.db");
    CHECK_FALSE(std::filesystem::exists(path("missing")));
}

TEST_CASE("the default database follows the environment") {
    const tconv::test::ScratchFolder folder;
    const std::string home = folder.path().string();
    CHECK(run_tconv({"cache", "path"}, home).out == home + "/.local/share/tconv/tconv.db\n");
    CHECK(run_tconv({"cache", "path"}, home, {"XDG_DATA_HOME=" + home + "/data"}).out ==
          home + "/data/tconv/tconv.db\n");
    CHECK(run_tconv({"cache", "path"}, home, {"TCONV_DATABASE=" + home + "/my.db"}).out == home + "/my.db\n");
    CHECK(run_tconv({"cache", "path", "--database", "here.db"}, home).out == "here.db\n");
}

TEST_CASE("before the first tuning the cache is empty, and looking at it makes nothing") {
    const tconv::test::ScratchFolder folder;
    const Finished list = run_tconv({"cache", "list"}, folder.path());
    CHECK(list.exit_code == 0);
    CHECK(list.out.find("nothing tuned yet") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(folder.path() / ".local"));
}

TEST_CASE("devices and spaces answer on any machine") {
    const tconv::test::ScratchFolder folder;
    const Finished devices = run_tconv({"devices"}, folder.path());
    CHECK(devices.exit_code == 0);
    for (const char* part : {"CUDA driver", "NVRTC", "C++ compiler", "emulator", "--device auto"})
        CHECK(devices.out.find(part) != std::string::npos);
    const Finished spaces = run_tconv({"spaces"}, folder.path());
    CHECK(spaces.exit_code == 0);
    CHECK(spaces.out.find("direct") != std::string::npos);
    Words counted{"spaces", "direct", "--device", "emulator"};
    counted.insert(counted.end(), k_problem.begin(), k_problem.end());
    const Finished count = run_tconv(counted, folder.path());
    CHECK(count.exit_code == 0);
    CHECK(count.out.find(" valid configs") != std::string::npos);
    CHECK(count.out.find("\n  0 valid configs") == std::string::npos);
    const Finished many = run_tconv(
        {"spaces", "--input", "8x48x96x96x96", "--weight", "48x24x3x3x3", "--device", "emulator"}, folder.path());
    CHECK(many.out.find("more than 10000 valid configs") != std::string::npos);
}

TEST_CASE("output that cannot be written is a failure") {
    const tconv::test::ScratchFolder folder;
    if (!std::filesystem::exists("/dev/full")) return;
    const Finished finished = run_tconv({"devices"}, folder.path(), {}, {}, "/dev/full");
    CHECK(finished.exit_code == 1);
    CHECK(finished.err.find("standard output cannot be written") != std::string::npos);
}
