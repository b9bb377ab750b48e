#pragma once

#include <cstddef>
#include <vector>

namespace tconv::emulator {

/// The asynchronous copies that one CUDA thread has started. Bytes arrive when they are waited for and no sooner, so
/// that a kernel which forgets to wait gets old data. What a thread never waits for is dropped at its end.
class PendingCopies {
public:
    /// `source` is null for zeros.
    void start(void* destination, const void* source, int bytes);
    void commit();
    /// Completes all groups but the most recent `groups`.
    void wait(int groups);
    void clear();

private:
    struct Copy {
        void* destination;
        const void* source;
        int bytes;
    };
    std::vector<Copy> copies_;             // of every pending group, oldest first, then those not committed
    std::vector<std::size_t> group_ends_;  // numbers of copies up to the end of each pending group
};

}  // namespace tconv::emulator
