#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tuner/builder.hpp"
#include "tuner/candidate.hpp"

namespace tconv {

/// Compiles candidates on several threads ahead of their evaluation. The results stay in the builder.
class CompilePool {
public:
    /// `builder` outlives the object. `threads` 0: one per processor.
    CompilePool(Builder& builder, int threads);
    CompilePool(const CompilePool&) = delete;
    CompilePool& operator=(const CompilePool&) = delete;
    /// Drops what has not begun and waits for what has.
    ~CompilePool();

    void submit(Candidate candidate);
    /// A candidate whose compilation has ended, in the order of their ends; waits at most `seconds`.
    [[nodiscard]] std::optional<Candidate> take(double seconds);
    /// Candidates submitted and not yet taken.
    [[nodiscard]] std::size_t outstanding() const;
    [[nodiscard]] std::size_t threads() const { return threads_.size(); }

private:
    void work(const std::stop_token& stop);

    Builder& builder_;
    mutable std::mutex mutex_;
    std::condition_variable_any submitted_;
    std::condition_variable finished_signal_;
    std::deque<Candidate> waiting_;
    std::deque<Candidate> finished_;
    std::size_t outstanding_ = 0;
    std::vector<std::jthread> threads_;
};

}  // namespace tconv
