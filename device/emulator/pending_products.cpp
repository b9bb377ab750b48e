#include "device/emulator/pending_products.hpp"

#include "device/emulator/matrix_products.hpp"

namespace tconv::emulator {

void PendingProducts::wait(int groups, std::uint32_t thread) {
    if (group_ends_.size() <= static_cast<std::size_t>(groups)) return;
    const std::size_t complete = group_ends_.size() - static_cast<std::size_t>(groups);
    const std::size_t count = group_ends_[complete - 1];
    for (std::size_t i = 0; i < count; ++i) {
        const One& one = products_[i];
        multiply_warpgroup(one.product, thread, one.sums, one.a, one.b, one.add != 0);
    }
    products_.erase(products_.begin(), products_.begin() + static_cast<std::ptrdiff_t>(count));
    group_ends_.erase(group_ends_.begin(), group_ends_.begin() + static_cast<std::ptrdiff_t>(complete));
    for (std::size_t& end : group_ends_)
        end -= count;
}

void PendingProducts::clear() {
    products_.clear();
    group_ends_.clear();
}

}  // namespace tconv::emulator
