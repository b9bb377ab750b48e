#include "tuner/workers/serve.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/emulated.hpp"
#include "tests/tuner/planted.hpp"
#include "tuner/workers/child_process.hpp"
#include "tuner/workers/codec.hpp"
#include "tuner/workers/messages.hpp"
#include "tuner/workers/worker.hpp"

using namespace tconv;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double k_long = 100;

std::vector<std::string> real(const std::string& flag, const std::string& value) {
    return {TCONV_COMMAND, "worker", flag, value};
}

Worker emulator_worker() {
    return {real("--device", "emulator"), {}};
}

Message answer_of(Worker& worker, const Message& request) {
    Answer answer = worker.ask(request, k_long);
    if (const auto* failure = std::get_if<WorkerFailure>(&answer)) FAIL(failure->reason);
    return std::get<Message>(answer);
}

Message preparing() {
    return {{messages::k_do, messages::k_prepare}, {"problem", key(test::planted_problem())}, {"seed", 5}};
}

/// The planted kernel, compiled here, to be measured there.
Compiled planted(const std::string& source) {
    const Problem problem = test::planted_problem();
    Compiled compiled{{problem, "planted", {}, test::planted_plan(problem), 1e-4, 0}, {}};
    CompileRequest request;
    request.name = "planted.cu";
    request.source = source;
    request.kernels = {"planted"};
    CompileResult result = test::emulated().compiler->compile(request);
    if (!result.ok) throw Error(ErrorKind::compile, result.log);
    compiled.code = std::move(result.code);
    return compiled;
}

}  // namespace

TEST_CASE("a worker says what it is") {
    const Worker device = emulator_worker();
    CHECK(device.greeting().at(messages::k_version) == messages::k_protocol);
    CHECK(device_key(device_info_from(device.greeting().at(messages::k_device))) ==
          device_key(test::emulated().device->info()));
    const Worker compiler(real("--compiler", "host"), {});
    CHECK(compiler.greeting().at(messages::k_compiler).get<std::string>() == test::emulated().compiler->version());
    CHECK(!compiler.greeting().contains(messages::k_device));
}

TEST_CASE("a worker that cannot work says why") {
    CHECK_THROWS_WITH(Worker(real("--compiler", "abacus"), {}), contains("--compiler (abacus) must be"));
    CHECK_THROWS_WITH(Worker(real("--device", "toaster"), {}), contains("--device (toaster) must be"));
}

TEST_CASE("a request that is none gets an error for an answer, and the next one is served") {
    Worker worker = emulator_worker();
    const Message cases[]{
        {{"nothing", 1}},
        {{messages::k_do, "sleeping"}},
        {{messages::k_do, messages::k_measure}},
        {{messages::k_do, messages::k_measure}, {messages::k_what, "that"}},
        {{messages::k_do, messages::k_time}, {messages::k_what, Message::array()}, {"rounds", "many"}, {"seconds", 1}},
        {{messages::k_do, messages::k_prepare}, {"problem", "a hard one"}, {"seed", 1}},
        {{messages::k_do, messages::k_compile}, {messages::k_what, Message::array({1, 2})}},
    };
    for (const Message& request : cases) {
        INFO(request.dump());
        const Message answer = answer_of(worker, request);
        REQUIRE(answer.contains(messages::k_error));
        CHECK(!error_of(answer).empty());
    }
    CHECK(answer_of(worker, preparing()).contains(messages::k_done));
}

TEST_CASE("a candidate before any problem is prepared is an outcome or an error, and no end") {
    Worker worker = emulator_worker();
    const Message measuring{{messages::k_do, messages::k_measure},
                            {messages::k_what, to_message(planted(test::planted_source(test::Fault::none)))}};
    const Message answer = answer_of(worker, measuring);
    CHECK((answer.contains(messages::k_error) ||
           measurement_from(answer.at(messages::k_done)).outcome.kind == OutcomeKind::launch_error));
    const Message timing{
        {messages::k_do, messages::k_time},
        {messages::k_what, Message::array({to_message(planted(test::planted_source(test::Fault::none)))})},
        {"rounds", 3},
        {"seconds", 1}};
    (void)answer_of(worker, timing);
    CHECK(answer_of(worker, preparing()).contains(messages::k_done));
}

TEST_CASE("a worker without a device compiles, and measures nothing") {
    Worker worker(real("--compiler", "host"), {});
    CHECK_THAT(error_of(answer_of(worker, preparing())), contains("has no device"));
    CompileRequest request{"test.cu", "extern \"C\" __global__ void k(int* p) { *p = 1; }", {"k"}, "", {}};
    const Message compiling{{messages::k_do, messages::k_compile}, {messages::k_what, to_message(request)}};
    CHECK(compile_result_from(answer_of(worker, compiling).at(messages::k_done)).ok);
    request.source = "this is no kernel";
    const Message refused{{messages::k_do, messages::k_compile}, {messages::k_what, to_message(request)}};
    const CompileResult result = compile_result_from(answer_of(worker, refused).at(messages::k_done));
    CHECK(!result.ok);
    CHECK(!result.log.empty());
}

TEST_CASE("what a kernel prints does not reach the messages") {
    Worker worker = emulator_worker();
    REQUIRE(answer_of(worker, preparing()).contains(messages::k_done));
    const std::string printing =
        "extern \"C\" int puts(const char*);\nextern \"C\" long write(int, const void*, "
        "unsigned long);\n" +
        test::planted_source(test::Fault::none);
    std::string source = printing;
    const std::string place = "float sum = 0;";
    source.insert(source.find(place), "puts(\"a kernel says so\"); write(1, \"and so\", 6); ");
    const Message measuring{{messages::k_do, messages::k_measure}, {messages::k_what, to_message(planted(source))}};
    const Measurement measurement = measurement_from(answer_of(worker, measuring).at(messages::k_done));
    INFO(measurement.outcome.reason);
    CHECK(measurement.outcome.kind == OutcomeKind::valid);
}

TEST_CASE("a worker ends when there will be no more requests, and after bytes that are none") {
    const auto minute = Clock::now() + std::chrono::seconds(60);
    const auto read_all = [&](ChildProcess& worker) {
        std::string bytes;
        while (worker.read(bytes, minute) == ChildProcess::Read::some) {
        }
        return bytes;
    };
    {
        ChildProcess worker({"/bin/sh", "-c", std::string(TCONV_COMMAND) + " worker --device emulator </dev/null"});
        std::string greeting = read_all(worker);
        CHECK(take_message(greeting)->contains(messages::k_device));
        CHECK(greeting.empty());
        CHECK(worker.wait().exit_code == 0);
    }
    ChildProcess worker(real("--device", "emulator"));
    REQUIRE(worker.write(std::string(100, '\xFF'), minute));
    std::string told = read_all(worker);
    CHECK(take_message(told)->contains(messages::k_device));
    const auto error = take_message(told);
    REQUIRE(error.has_value());
    CHECK_THAT(error_of(*error), contains("larger than any"));
    CHECK(worker.wait().exit_code == 0);
}

TEST_CASE("a worker on a terminal says that it is not for people") {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(terminal >= 0);
    REQUIRE(::grantpt(terminal) == 0);
    REQUIRE(::unlockpt(terminal) == 0);
    const std::string line = std::string(TCONV_COMMAND) + " worker --device emulator < " + ::ptsname(terminal);
    ChildProcess worker({"/bin/sh", "-c", line});
    std::string told;
    CHECK(worker.read(told, Clock::now() + std::chrono::seconds(60)) == ChildProcess::Read::ended);
    CHECK(worker.wait().exit_code == 2);
    CHECK_THAT(worker.complaints(), contains("must be started by tconv tune"));
    ::close(terminal);
}

TEST_CASE("a worker in an endless kernel ends with the one that started it") {
    pid_t id = 0;
    {
        ChildProcess worker(real("--device", "emulator"));
        id = worker.id();
        const auto minute = Clock::now() + std::chrono::seconds(60);
        std::string source = test::planted_source(test::Fault::none);
        const std::string place = "float sum = 0;";
        source.insert(source.find(place), "for (volatile int i = 0; i < 1; ) { } ");
        REQUIRE(worker.write(framed(preparing()) + framed({{messages::k_do, messages::k_measure},
                                                           {messages::k_what, to_message(planted(source))}}),
                             minute));
        std::string told;
        bool running = false;
        while (!running) {
            REQUIRE(worker.read(told, minute) == ChildProcess::Read::some);
            while (const auto message = take_message(told))
                running |= message->value(messages::k_at, "") == messages::k_at_run;
        }
        CHECK(!worker.ended());
        worker.close_input();
        const ProcessEnd end = worker.wait();
        CHECK(end.exit_code == 0);
        CHECK(!end.killed);
    }
    CHECK((::kill(id, 0) != 0 && errno == ESRCH));
}
