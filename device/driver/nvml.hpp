#pragma once

#include <string>
#include <vector>

namespace tconv {

/// What NVIDIA's management library says of a GPU at one moment. Whatever it does not tell has the value given below,
/// and `reason` says why.
struct GpuConditions {
    bool available = false;       ///< false: nothing is known
    std::string reason;           ///< what is not known and why; empty when all is known
    bool idle = false;            ///< nothing runs, so the clocks tell nothing
    int sm_mhz = 0;               ///< 0: not known
    int memory_mhz = 0;           ///< 0: not known
    int max_sm_mhz = 0;           ///< 0: not known
    int temperature_celsius = 0;  ///< 0: not known
    double power_watts = 0;       ///< 0: not known
    /// Why the clocks are lower than asked for: "power cap", "temperature", ...
    std::vector<std::string> throttle_reasons;
    /// How long the driver has held the clocks down since it was loaded, in milliseconds; negative: not known.
    double power_capped_milliseconds = -1;
    double heat_slowed_milliseconds = -1;
    int other_processes = -1;  ///< that have the GPU open; negative: not known
};

/// Calls `visit(name, member)` for every field but `available`, in the order in which documents hold them.
template <class C, class Visitor>
void visit_conditions(C& conditions, Visitor&& visit) {
    visit("sm_mhz", conditions.sm_mhz);
    visit("memory_mhz", conditions.memory_mhz);
    visit("max_sm_mhz", conditions.max_sm_mhz);
    visit("temperature_celsius", conditions.temperature_celsius);
    visit("power_watts", conditions.power_watts);
    visit("reason", conditions.reason);
    visit("idle", conditions.idle);
    visit("throttle_reasons", conditions.throttle_reasons);
    visit("power_capped_milliseconds", conditions.power_capped_milliseconds);
    visit("heat_slowed_milliseconds", conditions.heat_slowed_milliseconds);
    visit("other_processes", conditions.other_processes);
}

/// Reads the conditions of one GPU through libnvidia-ml.so.1 (TCONV_NVML names another), opened at run time and once a
/// process. Never throws: what is missing is a reason.
class GpuMonitor {
public:
    /// `pci_bus_id` as `pci_bus_id(ordinal)` gives it: the management library does not know CUDA's ordinals.
    explicit GpuMonitor(const std::string& pci_bus_id);

    /// Takes some milliseconds. Where this process is not listed among the GPU's processes (a container with numbers of
    /// its own), one of those listed is taken for it: to be called while this process has the GPU open.
    [[nodiscard]] GpuConditions read() const;

    /// "580.159.04"; empty when not known.
    [[nodiscard]] static std::string driver_package_version();

private:
    void* device_ = nullptr;
    std::string reason_;
};

/// Clocks that differ by more than this share have moved.
inline constexpr double k_clock_movement = 0.05;
/// Time with lowered clocks between two readings that is worth a word.
inline constexpr double k_slowdown_milliseconds = 5;

/// One sentence for each thing that makes times taken between two readings doubtful: other processes, clocks that moved
/// (between two readings of a busy GPU: an idle one's clocks say nothing), a slowdown by power or heat.
[[nodiscard]] std::vector<std::string> condition_warnings(const GpuConditions& before, const GpuConditions& after);

}  // namespace tconv
