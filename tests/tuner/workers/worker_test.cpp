#include "tuner/workers/worker.hpp"

#include <signal.h>

#include <cerrno>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tuner/workers/messages.hpp"

using namespace tconv;

namespace {

constexpr double k_long = 60;
constexpr double k_short = 0.2;

std::vector<std::string> scripted(const std::string& script) {
    return {TCONV_SCRIPTED_WORKER, script};
}

WorkerLimits limits(double start_seconds = k_long) {
    WorkerLimits limits;
    limits.start_seconds = start_seconds;
    return limits;
}

Message request(const std::string& text = "x") {
    return {{messages::k_do, "testing"}, {messages::k_what, text}};
}

/// How the first request to a worker fails.
WorkerFailure failure_of(const std::string& script, double seconds = k_long, const WorkerLimits& with = limits(),
                         const std::function<double(const std::string&)>& after_notice = {}) {
    Worker worker(scripted(script), with);
    const Answer answer = worker.ask(request(), seconds, after_notice);
    REQUIRE(std::holds_alternative<WorkerFailure>(answer));
    // It is gone, and collected.
    CHECK((::kill(worker.id(), 0) != 0 && errno == ESRCH));
    return std::get<WorkerFailure>(answer);
}

}  // namespace

TEST_CASE("a worker greets, and answers one request after another") {
    Worker worker(scripted("serve"), limits());
    CHECK(worker.greeting().at(messages::k_compiler) == "scripted 1");
    for (const std::size_t size : {0, 1, 70000, 3000000}) {
        const Message sent = request(std::string(size, 'y'));
        const Answer answer = worker.ask(sent, k_long);
        REQUIRE(std::holds_alternative<Message>(answer));
        CHECK(std::get<Message>(answer).at(messages::k_done) == sent);
    }
}

TEST_CASE("a worker that does not greet as it should does not start, and the reason is told") {
    const std::pair<const char*, const char*> cases[]{
        {"greet-garbage", "no message"},           {"greet-list", "no message"},
        {"greet-nothing", "version none"},         {"greet-version", "speaks version 3 of the protocol, and this is 2"},
        {"greet-version-text", "version \"one\""}, {"greet-error", "the device is on holiday"},
        {"greet-not", "no greeting from me"},      {"unknown script", "ended with exit code 2"},
    };
    for (const auto& [script, reason] : cases) {
        INFO(script);
        try {
            const Worker worker(scripted(script), limits());
            FAIL("it started");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::unavailable);
            CHECK_THAT(error.what(), contains(reason));
        }
    }
    CHECK_THROWS_WITH(Worker(scripted("greet-late"), limits(k_short)), contains("starting took longer than 0.2 s"));
}

TEST_CASE("what ends a worker before its answer is a crash with its reason") {
    const std::pair<const char*, const char*> cases[]{
        {"die", "at testing its process was ended by signal 6"},
        {"exit", "at testing its process ended with exit code 5"},
        {"exit-early", "ended with exit code 6"},
        {"half", "ended with exit code 0"},
        {"be-killed", "the machine may be out of memory"},
        {"leave-a-child", "was ended by signal 11"},
        {"garbage", "at testing it sent what is no message"},
        {"list", "it sent what is no message"},
        {"wrong-notice", "it sent what is no message"},
    };
    for (const auto& [script, reason] : cases) {
        INFO(script);
        const WorkerFailure failure = failure_of(script);
        CHECK(failure.kind == OutcomeKind::crashed);
        CHECK_THAT(failure.reason, contains(reason));
    }
}

TEST_CASE("the last words of a worker are told, as plain text") {
    CHECK_THAT(failure_of("die").reason, contains("\nmy last words??\n"));
}

TEST_CASE("a worker that takes too long is ended") {
    for (const char* script : {"hang", "endless-notices", "flood-complaints"}) {
        INFO(script);
        const WorkerFailure failure = failure_of(script, k_short);
        CHECK(failure.kind == OutcomeKind::timeout);
        CHECK_THAT(failure.reason, contains("took longer than 0.2 s"));
    }
}

TEST_CASE("a worker that reads nothing is ended") {
    Worker worker(scripted("read-not"), limits());
    const Answer answer = worker.ask(request(std::string(5'000'000, 'x')), k_short);
    REQUIRE(std::holds_alternative<WorkerFailure>(answer));
    CHECK(std::get<WorkerFailure>(answer).kind == OutcomeKind::timeout);
    CHECK_THAT(std::get<WorkerFailure>(answer).reason, contains("testing was not taken up within 0.2 s"));
}

TEST_CASE("notices are told in order and do not answer") {
    Worker worker(scripted("notices"), limits());
    std::vector<std::string> told;
    const Answer answer = worker.ask(request(), k_long, [&](const std::string& at) {
        told.push_back(at);
        return k_long;
    });
    REQUIRE(std::holds_alternative<Message>(answer));
    CHECK(told == std::vector<std::string>{messages::k_at_run, messages::k_at_check, messages::k_at_timing});
}

TEST_CASE("a notice sets the time from then on, within that of the whole") {
    const WorkerFailure step = failure_of("hang-after-notice", k_long, limits(), [](const auto&) { return k_short; });
    CHECK(step.kind == OutcomeKind::timeout);
    CHECK_THAT(step.reason, contains("a run took longer than 0.2 s"));
    const WorkerFailure whole = failure_of("endless-notices", k_short, limits(), [](const auto&) { return k_long; });
    CHECK(whole.kind == OutcomeKind::timeout);
    const WorkerFailure renewed =
        failure_of("hang-after-notice", k_long, limits(), [](const auto&) { return -k_short; });
    CHECK(renewed.kind == OutcomeKind::timeout);
    CHECK_THAT(renewed.reason, contains("0.2 s"));
}

TEST_CASE("a worker that takes too much memory is ended") {
    WorkerLimits small = limits();
    small.memory_bytes = std::int64_t{400} << 20;
    const WorkerFailure failure = failure_of("eat-memory", k_long, small);
    CHECK(failure.kind == OutcomeKind::crashed);
    CHECK_THAT(failure.reason, contains("at testing it took more than 400 MiB of memory"));
}

TEST_CASE("a start is tried again, and in the end an error says why") {
    int tries = 0;
    const auto second = [&] {
        if (++tries == 1) throw Error(ErrorKind::device, "not yet");
        return std::make_unique<Worker>(scripted("serve"), limits());
    };
    CHECK(restart_worker(second) != nullptr);
    CHECK(tries == 2);
    tries = 0;
    const auto never = [&]() -> std::unique_ptr<Worker> {
        ++tries;
        throw Error(ErrorKind::device, "the card fell out");
    };
    try {
        (void)restart_worker(never);
        FAIL("it started");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unavailable);
        CHECK_THAT(error.what(), contains("the card fell out"));
    }
    CHECK(tries > 1);
}
