#include "device/emulator/fibre.hpp"

#include <memory>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace tconv::emulator {
namespace {

struct Script {
    Fibre* fibre;
    std::string* log;
    char name;
    int pauses;
};

void play(void* argument) {
    const Script& script = *static_cast<Script*>(argument);
    for (int i = 0; i < script.pauses; ++i) {
        *script.log += script.name;
        script.fibre->suspend();
    }
    *script.log += '.';
}

}  // namespace

TEST_CASE("a fibre runs, suspends, goes on and can be used again") {
    Fibre fibre(0);
    std::string log;
    Script script{&fibre, &log, 'a', 2};
    CHECK_FALSE(fibre.start(play, &script));
    CHECK_FALSE(fibre.resume());
    CHECK(fibre.resume());
    CHECK(log == "aa.");
    script.pauses = 0;
    CHECK(fibre.start(play, &script));
    CHECK(log == "aa..");
}

TEST_CASE("many fibres are interleaved in any order") {
    std::string log;
    std::vector<std::unique_ptr<Fibre>> fibres;
    std::vector<Script> scripts;
    for (int i = 0; i < 40; ++i) {
        fibres.push_back(std::make_unique<Fibre>(i));
        scripts.push_back({fibres.back().get(), &log, static_cast<char>('A' + i), 1});
    }
    for (int i = 0; i < 40; ++i)
        CHECK_FALSE(fibres[i]->start(play, &scripts[i]));
    for (int i = 39; i >= 0; --i)
        CHECK(fibres[i]->resume());
    CHECK(log.size() == 80);
    CHECK(log.substr(0, 3) == "ABC");
}

TEST_CASE("a suspended fibre that is discarded can start anew") {
    Fibre fibre(3);
    std::string log;
    Script script{&fibre, &log, 'x', 5};
    CHECK_FALSE(fibre.start(play, &script));
    fibre.discard();
    script.pauses = 0;
    CHECK(fibre.start(play, &script));
    CHECK(log == "x.");
}

}  // namespace tconv::emulator
