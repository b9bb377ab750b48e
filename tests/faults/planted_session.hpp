#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.hpp"
#include "tests/tools/process.hpp"

namespace tconv::tests {

/// One line of planted/expected.txt.
struct PlantedFault {
    int number = 0;
    std::string name;
    std::vector<std::string> outcomes;  ///< on the emulator, any of them
};

/// Those that can be planted on the emulator.
[[nodiscard]] std::vector<PlantedFault> planted_faults();
[[nodiscard]] PlantedFault planted_fault(const std::string& name);

struct PlantedOutcome {
    std::string kind;
    std::string reason;
};

/// Sessions of `tconv tune` on the emulator with the planted family alone, in a folder of their own.
class PlantedSessions {
public:
    PlantedSessions();

    /// What the family's space holds from now on: these faults (0: none), each with these repeats where `rule` holds.
    void offer(const std::vector<int>& faults, const std::string& rule = "fault == 0 || repeat == 1") const;

    struct Run {
        Finished process;
        nlohmann::json result;  ///< null where the command printed none
    };
    /// With tight limits, of which `limits` replaces some: {"--run-limit", "5m"}.
    [[nodiscard]] Run tune(const std::map<std::string, std::string>& limits = {},
                           const std::function<void(pid_t)>& meanwhile = {}) const;

    /// By the number of the fault; those of the good candidates by minus their repeat.
    [[nodiscard]] std::map<int, PlantedOutcome> outcomes() const;

    [[nodiscard]] std::filesystem::path database() const { return folder_ / "t.db"; }
    /// Where the session's compilers work.
    [[nodiscard]] std::filesystem::path temporary_files() const { return folder_ / "tmp"; }
    /// The file that an endless kernel makes once it is under way.
    [[nodiscard]] std::filesystem::path mark() const { return folder_ / "under way"; }

private:
    test::ScratchFolder folder_;
};

/// Checks of Catch2: the command ended with `exit_code` and said nothing unexpected.
void check_ended(const PlantedSessions::Run& run, int exit_code);

}  // namespace tconv::tests
