#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tuner/evaluator.hpp"
#include "tuner/laboratory.hpp"
#include "tuner/validator.hpp"

namespace tconv {

/// Runs candidates in this process.
class LocalEvaluator final : public Evaluator {
public:
    /// `laboratory` outlives the object. `notice`, where given, is told before each launch of a candidate and each
    /// stage what comes next (the words of workers/messages.hpp).
    explicit LocalEvaluator(Laboratory& laboratory, std::function<void(const char*)> notice = {});
    ~LocalEvaluator() override;

    [[nodiscard]] const DeviceInfo& device() const override;
    [[nodiscard]] Builder& builder() override;

    [[nodiscard]] Preparation prepare(const Problem& problem, std::uint64_t seed) override;
    [[nodiscard]] Measurement measure(const Compiled& candidate) override;
    [[nodiscard]] std::vector<Timing> time_in_turn(const std::vector<Compiled>& candidates, int rounds,
                                                   double seconds) override;
    [[nodiscard]] double device_seconds() const override;

private:
    void load_validate_time(const Compiled& candidate, Measurement& measurement);
    void validate_and_time(const Candidate& candidate, Module& module, Measurement& measurement);
    void time(const Candidate& candidate, const Runnable& runnable, Outcome& outcome);
    /// Takes times, and takes them again where something disturbed the device meanwhile. What could not be had
    /// undisturbed is said in `remark`.
    template <class Take>
    [[nodiscard]] auto undisturbed(const Take& take, std::string& remark);
    [[nodiscard]] std::vector<Timing> time_all(const std::vector<Compiled>& candidates, int rounds, double seconds);
    [[nodiscard]] Validator& validator() const;
    void notice(const char* at) const;

    Laboratory& laboratory_;
    std::function<void(const char*)> notice_;
    std::unique_ptr<Validator> validator_;
};

}  // namespace tconv
