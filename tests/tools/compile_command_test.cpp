// `tconv compile` as a user meets it, on a machine that need not have a GPU.

#include <signal.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "device/nvrtc/nvrtc.hpp"
#include "tests/catch.hpp"
#include "tests/tools/process.hpp"

using namespace tconv::tests;

namespace {

using Words = std::vector<std::string>;

Words compile(const Words& more) {
    Words words{"compile", "--input", "1x4x6x6", "--weight", "4x3x3x3", "--stride", "2", "--target", "h200"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

bool nvrtc_is_here() {
    const tconv::NvrtcStatus status = tconv::nvrtc_status();
    if (!status.available) WARN("skipped: " << status.reason);
    return status.available;
}

void check_bad_input(const Finished& finished, const std::string& part) {
    INFO(finished.err);
    INFO(part);
    CHECK(finished.exit_code == 2);
    CHECK(finished.out.empty());
    CHECK(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
    CHECK(finished.err.find(part) != std::string::npos);
}

/// The numbers in the table's last row: candidates, compiled now, found already, refused.
std::vector<std::int64_t> sums(const Finished& finished) {
    std::istringstream line(finished.out.substr(finished.out.find("together") + 8));
    std::vector<std::int64_t> numbers(4);
    for (std::int64_t& number : numbers)
        line >> number;
    return numbers;
}

}  // namespace

TEST_CASE("compile refuses with one line") {
    const tconv::test::ScratchFolder folder;
    const auto run = [&](const Words& words, const Words& environment = {}) {
        return run_tconv(words, folder.path(), environment);
    };
    check_bad_input(run({"compile", "--target", "h200"}), "no problem given");
    check_bad_input(run({"compile", "--input", "1x4x6", "--weight", "4x3x3"}), "--target");
    check_bad_input(run({"compile", "--input", "1x4x6", "--weight", "4x3x3", "--target", "voodoo"}), "voodoo");
    check_bad_input(run(compile({"--trials", "0"})), "--trials (0)");
    check_bad_input(run(compile({"--seed", "x"})), "--seed (x)");
    check_bad_input(run(compile({"--tolerance", "2"})), "--tolerance (2)");
    check_bad_input(run(compile({}), {"TCONV_NVRTC=/nowhere/libnvrtc.so"}), "compile needs NVRTC");
    if (!nvrtc_is_here()) return;
    check_bad_input(run(compile({"--database", folder.file("none.db")})), "does not exist");
    check_bad_input(run(compile({}), {"TCONV_CACHE=/proc/nowhere"}), "TCONV_CACHE");
}

TEST_CASE("compile fills the code cache, and finds all of it there the next time", "[nvrtc]") {
    if (!nvrtc_is_here()) return;
    const tconv::test::ScratchFolder folder;
    const Finished first = run_tconv(compile({"--trials", "3"}), folder.path());
    INFO(first.out << first.err);
    REQUIRE(first.exit_code == 0);
    const auto made = sums(first);
    CHECK(made[0] > 3);  // with the fixed kernels
    CHECK(made[1] > 0);
    CHECK(made[0] == made[1] + made[2] + made[3]);
    const Finished again = run_tconv(compile({"--trials", "3"}), folder.path());
    CHECK(sums(again) == std::vector<std::int64_t>{made[0], 0, made[1] + made[2], made[3]});

    // And what was compiled travels.
    REQUIRE(run_tconv({"cache", "export", folder.file("a"), "--only-code"}, folder.path()).exit_code == 0);
    const Finished carried =
        run_tconv({"cache", "import", folder.file("a")}, folder.path(), {"TCONV_CACHE=" + folder.file("there")});
    CHECK(carried.exit_code == 0);
    const Finished there =
        run_tconv(compile({"--trials", "3"}), folder.path(), {"TCONV_CACHE=" + folder.file("there")});
    CHECK(sums(there)[1] == 0);
}

TEST_CASE("an interrupted compile ends cleanly and keeps what it made", "[nvrtc]") {
    if (!nvrtc_is_here()) return;
    const tconv::test::ScratchFolder folder;
    const auto interrupt = [&](pid_t process) {
        const std::filesystem::path cache = folder / ".cache" / "tconv";
        const auto count = [&] {
            std::error_code none;
            return std::distance(std::filesystem::directory_iterator(cache, none), {});
        };
        for (int attempt = 0; attempt < 1200 && count() < 6; ++attempt)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        kill(process, SIGINT);
    };
    const Finished stopped = run_tconv(compile({"--trials", "100000"}), folder.path(), {}, interrupt);
    INFO(stopped.out << stopped.err);
    CHECK(stopped.exit_code == 130);
    CHECK(sums(stopped)[1] > 0);
    for (const auto& entry : std::filesystem::directory_iterator(folder / ".cache" / "tconv"))
        CHECK(entry.path().extension() == ".cubin");
}
