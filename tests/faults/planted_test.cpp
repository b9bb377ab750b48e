// Kernels that do everything wrong that a kernel can, through the real command.

#include <algorithm>

#include "device/emulator/emulator.hpp"
#include "tests/catch.hpp"
#include "tests/faults/planted_session.hpp"

using namespace tconv::tests;

namespace {

bool is_among(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// Checks that name the fault.
void check_outcome(const PlantedFault& fault, const PlantedOutcome& seen) {
    INFO(fault.name << ": " << seen.kind << ": " << seen.reason);
    CHECK(is_among(fault.outcomes, seen.kind));
    CHECK((seen.kind == "valid" || !seen.reason.empty()));
    if (fault.name != "prints") CHECK(seen.reason.find("a kernel speaks") == std::string::npos);
}

}  // namespace

TEST_CASE("every fault is its candidate's alone, and the session finds the right winner among them") {
    if (!tconv::host_compiler_status().available) return;
    const PlantedSessions sessions;
    const std::vector<PlantedFault> faults = planted_faults();
    std::vector<int> numbers{0};
    for (const PlantedFault& fault : faults)
        numbers.push_back(fault.number);
    sessions.offer(numbers);

    const PlantedSessions::Run run = sessions.tune();
    check_ended(run, 0);
    CHECK(run.result["trials_measured"] == faults.size() + 3);
    REQUIRE(run.result["winner"].is_object());
    CHECK(run.result["winner"]["config"]["fault"] == 0);
    CHECK(run.result["winner"]["config"]["repeat"] == 1);
    auto outcomes = sessions.outcomes();
    for (const PlantedFault& fault : faults)
        check_outcome(fault, outcomes[fault.number]);
    for (const int repeat : {1, 64, 4096}) {
        INFO("repeat " << repeat << ": " << outcomes[-repeat].kind << ": " << outcomes[-repeat].reason);
        CHECK(is_among({"valid", "too_slow"}, outcomes[-repeat].kind));
    }

    // The next session knows them all.
    const PlantedSessions::Run again = sessions.tune();
    check_ended(again, 0);
    CHECK(again.result["trials_measured"] == 0);
    CHECK(again.result["trials_reused"] == faults.size() + 3);
}

TEST_CASE("a session whose every candidate fails says so and ends") {
    if (!tconv::host_compiler_status().available) return;
    for (PlantedFault& fault : planted_faults()) {
        INFO(fault.name);
        const PlantedSessions sessions;
        sessions.offer({fault.number});
        // Nothing is faster here.
        fault.outcomes.erase(std::remove(fault.outcomes.begin(), fault.outcomes.end(), "too_slow"),
                             fault.outcomes.end());
        const bool good = is_among(fault.outcomes, "valid");
        const PlantedSessions::Run run = sessions.tune();
        check_ended(run, good ? 0 : 1);
        CHECK(run.result["trials_measured"] == 1);
        CHECK(run.result["winner"].is_object() == good);
        auto outcomes = sessions.outcomes();
        check_outcome(fault, outcomes[fault.number]);
        // Where the process that compiles is killed itself, nobody is left to tidy up.
        if (fault.name != "compiler_takes_worker") CHECK(std::filesystem::is_empty(sessions.temporary_files()));
    }
}
