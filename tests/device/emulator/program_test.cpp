#include "device/emulator/program.hpp"

#include <chrono>

#include "core/error.hpp"
#include "tests/catch.hpp"

namespace tconv::emulator {

using namespace std::chrono_literals;

TEST_CASE("a program's output and exit code are taken") {
    const ProgramResult result = run_program({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, 60s);
    CHECK(result.exit_code == 3);
    CHECK(result.output == "out\nerr\n");
    CHECK_FALSE(result.timed_out);
}

TEST_CASE("arguments reach the program as they are") {
    const ProgramResult result = run_program({"/bin/echo", "$HOME", "a b", "'; ls", "*"}, 60s);
    CHECK(result.output == "$HOME a b '; ls *\n");
}

TEST_CASE("long output is cut at the limit and the program still ends") {
    const ProgramResult result = run_program({"/bin/sh", "-c", "head -c 1000000 /dev/zero; exit 0"}, 60s, 1000);
    CHECK(result.output.size() == 1000);
    CHECK(result.exit_code == 0);
}

TEST_CASE("a program that does not end is ended with its children") {
    const ProgramResult result = run_program({"/bin/sh", "-c", "sleep 1000 & sleep 1000"}, 100ms);
    CHECK(result.timed_out);
    CHECK(result.exit_code == 128 + 9);
}

TEST_CASE("a program that is not there is an error") {
    CHECK_THROWS_AS(run_program({"/nonexistent/compiler"}, 1s), Error);
}

}  // namespace tconv::emulator
