#include "device/emulator/worker_pool.hpp"

#include <atomic>
#include <set>

#include "tests/catch.hpp"

namespace tconv::emulator {

TEST_CASE("each worker of a round runs once, on threads of its own") {
    WorkerPool pool;
    for (const int count : {1, 4, 2, 4, 1, 3}) {
        for (int round = 0; round < 200; ++round) {
            std::mutex mutex;
            std::multiset<int> workers;
            std::set<std::thread::id> threads;
            pool.run(count, [&](int worker) {
                const std::lock_guard lock(mutex);
                workers.insert(worker);
                threads.insert(std::this_thread::get_id());
            });
            REQUIRE(workers.size() == static_cast<std::size_t>(count));
            REQUIRE(threads.size() == static_cast<std::size_t>(count));
            REQUIRE(*workers.rbegin() == count - 1);
            REQUIRE(threads.count(std::this_thread::get_id()) == 1);
        }
    }
}

}  // namespace tconv::emulator
