#include "tuner/adapted_config.hpp"

namespace tconv {

std::optional<Config> adapted_config(const SearchSpace& space, const Problem& problem, const DeviceInfo& device,
                                     const Config& former, const Demand& demand) {
    Config adapted;
    for (const Parameter& parameter : space.parameters()) {
        const auto known = former.find(parameter.name);
        if (known == former.end() && !parameter.former) return std::nullopt;
        adapted[parameter.name] = known == former.end() ? *parameter.former : known->second;
    }
    if (!space.violation(problem, device, adapted, demand).empty()) return std::nullopt;
    return adapted;
}

}  // namespace tconv
