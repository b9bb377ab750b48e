#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "core/error.hpp"
#include "device/emulator/block_runner.hpp"

namespace tconv::emulator {

/// What kernels call; no exception may pass through their frames.
struct BlockRunner::Callbacks {
    static BlockRunner& of(void* context) { return *static_cast<BlockRunner*>(context); }

    static int meet_block(void* context, Meeting meeting, int predicate, int line) noexcept {
        BlockRunner& runner = of(context);
        const std::uint32_t thread = runner.current_;
        runner.meet_block({meeting, 0, predicate != 0 ? 1u : 0u, 0, line});
        return static_cast<int>(runner.threads_[thread].result);
    }

    static unsigned long long meet_warp(void* context, Meeting meeting, unsigned mask, unsigned long long value,
                                        int source, int line) noexcept {
        BlockRunner& runner = of(context);
        const std::uint32_t thread = runner.current_;
        runner.meet_warp({meeting, mask, value, source, line});
        return runner.threads_[thread].result;
    }

    static void multiply_warp(void* context, tconv_emulator::Element element, float* sums, const unsigned* a,
                              const unsigned* b, int line) noexcept {
        of(context).multiply_warp(element, {sums, a, b}, line);
    }

    static void copy(void* context, void* shared, const void* global, int bytes) noexcept {
        BlockRunner& runner = of(context);
        attempt(runner, [&] { runner.own_copies().start(shared, global, bytes); });
    }

    static void commit(void* context) noexcept {
        BlockRunner& runner = of(context);
        attempt(runner, [&] { runner.own_copies().commit(); });
    }

    static void wait(void* context, int groups) noexcept {
        BlockRunner& runner = of(context);
        attempt(runner, [&] { runner.own_copies().wait(groups); });
    }

    static void misaligned(void* context, const char* what, const void* address, int alignment, int line) noexcept {
        BlockRunner& runner = of(context);
        const auto past = reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(alignment);
        runner.note_failure(fmt::format("misaligned {} (line {}): its address is {} bytes past a multiple of {}", what,
                                        line, past, alignment));
        runner.stop_here();
    }

    static void meet_warpgroup(void* context, Meeting meeting, int line) noexcept {
        of(context).meet_warpgroup({meeting, 0, 0, 0, line});
    }

    static void start_product(void* context, tconv_emulator::Product product, float* sums,
                              const tconv_emulator::LeftOperand* a, unsigned long long b, int add) noexcept {
        BlockRunner& runner = of(context);
        attempt(runner, [&] { runner.threads_[runner.current_].products.start(product, sums, *a, b, add); });
    }

    static void commit_products(void* context) noexcept {
        BlockRunner& runner = of(context);
        attempt(runner, [&] { runner.threads_[runner.current_].products.commit(); });
    }

    static void wait_products(void* context, int groups) noexcept {
        BlockRunner& runner = of(context);
        attempt(runner,
                [&] { runner.threads_[runner.current_].products.wait(groups, runner.current_ % k_warpgroup_size); });
    }

    static void barrier_init(void* context, void* barrier, unsigned arrivals, int line) noexcept {
        BlockRunner& runner = of(context);
        attempt(
            runner, [&] { runner.barriers_.init(barrier, arrivals); }, line);
    }

    static void barrier_arrive(void* context, void* barrier, unsigned arrivals, unsigned bytes, int line) noexcept {
        BlockRunner& runner = of(context);
        attempt(
            runner, [&] { runner.arrive(barrier, arrivals, bytes); }, line);
    }

    static int barrier_wait(void* context, void* barrier, unsigned parity, int waits, int line) noexcept {
        BlockRunner& runner = of(context);
        bool complete = false;
        attempt(
            runner, [&] { complete = runner.meet_at_barrier(barrier, parity, waits != 0, line); }, line);
        return complete ? 1 : 0;
    }

    static void load_box(void* context, void* shared, const tconv_emulator::TensorMap* map, const int* corner,
                         int dimensions, void* barrier, unsigned blocks, int line) noexcept {
        BlockRunner& runner = of(context);
        const auto start = [&] {
            if (map->mark != tconv_emulator::k_tensor_map_mark)
                throw Error(ErrorKind::device, "what should be a tensor map is none");
            if (map->dimensions != dimensions) {
                throw Error(ErrorKind::device, fmt::format("a box of {} dimensions is asked of a tensor map of {}",
                                                           dimensions, map->dimensions));
            }
            // triton-lang/triton 7385: an illegal instruction on the hardware.
            if (std::int64_t{corner[0]} * map->element_bytes % 16 != 0) {
                throw Error(ErrorKind::device,
                            fmt::format("a box's first coordinate ({}) times the {} bytes of an element must be a "
                                        "multiple of 16",
                                        corner[0], map->element_bytes));
            }
            BarrierCopy copy{barrier, static_cast<unsigned char*>(shared), box_bytes(*map), nullptr, *map, {}};
            std::copy_n(corner, dimensions, copy.corner.begin());
            runner.start_copy(copy, blocks);
        };
        attempt(runner, start, line);
    }

    static void load_bytes(void* context, void* shared, const void* global, unsigned bytes, void* barrier,
                           unsigned blocks, int line) noexcept {
        BlockRunner& runner = of(context);
        const auto start = [&] {
            runner.start_copy({barrier, static_cast<unsigned char*>(shared), bytes, global, std::nullopt, {}}, blocks);
        };
        attempt(runner, start, line);
    }

    static void meet_cluster(void* context, int line) noexcept {
        of(context).meet_cluster({Meeting::cluster, 0, 0, 0, line});
    }

    static void arrive_in_cluster(void* context, void* barrier, unsigned rank, int line) noexcept {
        BlockRunner& runner = of(context);
        attempt(
            runner, [&] { runner.arrive_in_cluster(barrier, rank); }, line);
    }

    template <class Action>
    static void attempt(BlockRunner& runner, const Action& action, int line = 0) {
        try {
            action();
            return;
        } catch (const std::exception& error) {
            runner.note_failure(line > 0 ? fmt::format("{} (line {})", error.what(), line) : error.what());
        }
        runner.stop_here();
    }
};

BlockRunner::BlockRunner(Cluster& cluster)
    : cluster_(cluster),
      host_{this,
            &Callbacks::meet_block,
            &Callbacks::meet_warp,
            &Callbacks::copy,
            &Callbacks::commit,
            &Callbacks::wait,
            &Callbacks::multiply_warp,
            &Callbacks::barrier_init,
            &Callbacks::barrier_arrive,
            &Callbacks::barrier_wait,
            &Callbacks::load_box,
            &Callbacks::load_bytes,
            &Callbacks::misaligned,
            &Callbacks::meet_warpgroup,
            &Callbacks::start_product,
            &Callbacks::commit_products,
            &Callbacks::wait_products,
            &Callbacks::meet_cluster,
            &Callbacks::arrive_in_cluster} {}

}  // namespace tconv::emulator
