#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/device_info.hpp"
#include "core/problem.hpp"
#include "tuner/search_space.hpp"

namespace tconv {

/// Every valid config of a search space for one problem and device, two bytes a parameter, in the order of the
/// enumeration. Configs are known by their row; rows and ordinals live in memory alone.
class ConfigTable {
public:
    ConfigTable(const SearchSpace& space, const Problem& problem, const DeviceInfo& device);

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] Config config(std::size_t row) const;
    /// Nothing when the config is not in the table.
    [[nodiscard]] std::optional<std::size_t> row_of(const Config& config) const;

    /// Rows that differ from `row` in one parameter: by one step, or by more where the steps between are not valid.
    [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t row) const;

    /// Rows that differ from `row` in exactly two parameters, by one step each.
    [[nodiscard]] std::vector<std::size_t> pair_neighbours(std::size_t row) const;

private:
    using Ordinals = std::vector<std::uint16_t>;

    [[nodiscard]] Ordinals ordinals(std::size_t row) const;
    [[nodiscard]] std::optional<std::size_t> row_of(const Ordinals& ordinals) const;

    std::vector<Parameter> parameters_;
    std::vector<std::uint16_t> ordinals_;  // size x parameters, rows in lexicographic order
    std::size_t size_ = 0;
};

}  // namespace tconv
