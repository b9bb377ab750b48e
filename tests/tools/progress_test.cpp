#include "tools/progress.hpp"

#include "tests/catch.hpp"
#include "tools/format.hpp"

using namespace tconv;

namespace {

TuneProgress midway() {
    TuneProgress p;
    p.stage = "search";
    p.trials_done = 50;
    p.trials_total = 200;
    p.best_milliseconds = 10.8;
    p.reference_milliseconds = 133;
    p.failures = {{OutcomeKind::compile_error, 3}, {OutcomeKind::wrong_result, 1}};
    p.seconds_used = 20;
    p.seconds_limit = 60;
    return p;
}

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a wide line shows everything") {
    const std::string line = progress_bar_line(midway(), "seed3d", {140, true});
    for (const char* part :
         {"seed3d", "█", "░", "50/200", "best 10.80 ms", "12.3x", "3 compile", "1 wrong", "0:40 left"}) {
        INFO(line);
        INFO(part);
        CHECK(holds(line, part));
    }
    CHECK(holds(progress_bar_line(midway(), "seed3d", {140, false}), "[########"));
}

TEST_CASE("a line never reaches the terminal's last column, whatever the width") {
    TuneProgress big = midway();
    big.trials_done = 123456;
    big.trials_total = 1000000;
    for (int kind = 0; kind <= static_cast<int>(OutcomeKind::crashed); ++kind)
        big.failures[static_cast<OutcomeKind>(kind)] = 1000 + kind;
    for (const TuneProgress& p : {TuneProgress{}, midway(), big}) {
        for (int width = 0; width < 300; ++width) {
            for (const bool unicode : {true, false}) {
                const std::string line = progress_bar_line(p, "[12/36] cyclegan_up1", {width, unicode});
                CHECK(display_width(line) <= static_cast<std::size_t>(std::max(width - 1, 1)));
                CHECK(holds(line, "\n") == false);
            }
        }
    }
}

TEST_CASE("the most important parts stay longest") {
    const auto at = [](int width) { return progress_bar_line(midway(), "seed3d", {width, true}); };
    CHECK(holds(at(80), "4 failed"));
    CHECK_FALSE(holds(at(80), "3 compile"));
    CHECK(holds(at(60), "0:40 left"));
    CHECK(holds(at(40), "best 10.80 ms"));
    CHECK(holds(at(30), "50/200"));
}

TEST_CASE("time left is the sooner of the limit and the trials") {
    TuneProgress p = midway();
    CHECK(seconds_left(p) == Approx(40));
    p.trials_done = 180;
    CHECK(seconds_left(p) == Approx(20.0 / 180 * 20));
    p.trials_done = 0;
    CHECK(seconds_left(p) == Approx(40));
    p.seconds_used = 61;
    CHECK(seconds_left(p) == 0);
    p.seconds_limit = 0;
    CHECK(seconds_left(p) < 0);
}

TEST_CASE("plain lines say the same in words") {
    CHECK(progress_plain_line(midway(), "seed3d") ==
          "seed3d: 50/200 trials, best 10.80 ms (12.3x reference), failed: 3 compile_error, 1 wrong_result, 0:40 left");
    TuneProgress start;
    start.stage = "reference";
    start.seconds_limit = 60;
    CHECK(progress_plain_line(start, "") == "timing the reference, 1:00 left");
}

TEST_CASE("off a terminal there is a line on each new best and each stage, not on each trial") {
    std::FILE* file = std::tmpfile();
    REQUIRE(file != nullptr);
    {
        ProgressPrinter printer(file);
        printer.begin("a");
        TuneProgress p = midway();
        for (int trial = 0; trial < 100; ++trial) {
            p.trials_done = trial;
            if (trial == 50) p.best_milliseconds = 9;
            printer.update(p);
        }
        p.stage = "finalists";
        printer.update(p);
        printer.end();
    }
    std::rewind(file);
    std::string text(1 << 16, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    CHECK(std::count(text.begin(), text.end(), '\n') == 3);
    CHECK(holds(text, "best 9.000 ms"));
    CHECK(holds(text, "re-timing finalists"));
    CHECK_FALSE(holds(text, "\r"));
    CHECK_FALSE(holds(text, "\x1b"));
}
