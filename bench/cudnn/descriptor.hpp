#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/cudnn/library.hpp"

namespace tconv::cudnn {

/// A backend descriptor: made, given attributes, finalised, asked. Functions throw Error(device).
class Descriptor {
public:
    /// `subject` names it in errors and outlives it.
    Descriptor(const Library& library, int type, const char* subject)
        : library_(library), subject_(subject), raw_(library.create_descriptor(type, subject)) {}
    Descriptor(Descriptor&& other) noexcept
        : library_(other.library_), subject_(other.subject_), raw_(std::exchange(other.raw_, nullptr)) {}
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor() {
        if (raw_ != nullptr) library_.destroy_descriptor(raw_);
    }

    [[nodiscard]] void* raw() const { return raw_; }

    /// `Value` is what cudnn.h documents for the type: an enumeration, std::int64_t, float, void*...
    template <class Value>
    void set(int attribute, int type, const Value& value) {
        library_.set_attribute(raw_, attribute, type, 1, &value, subject_);
    }
    template <class Value>
    void set(int attribute, int type, const std::vector<Value>& values) {
        library_.set_attribute(raw_, attribute, type, static_cast<std::int64_t>(values.size()), values.data(),
                               subject_);
    }
    void set(int attribute, int type, const Descriptor& other) { set(attribute, type, other.raw_); }

    void finalize() { library_.finalize(raw_, subject_); }

    /// Every element, at most `most`.
    template <class Value>
    [[nodiscard]] std::vector<Value> get(int attribute, int type, std::int64_t most) const {
        static_assert(std::is_trivially_copyable_v<Value>);
        std::vector<Value> values(static_cast<std::size_t>(most));
        const std::int64_t there = library_.get_attribute(raw_, attribute, type, most, values.data(), subject_);
        values.resize(static_cast<std::size_t>(there < most ? there : most));
        return values;
    }

    /// Every descriptor under an attribute, each of type `element`, at most `most`.
    [[nodiscard]] std::vector<Descriptor> get_descriptors(int attribute, int element, std::int64_t most,
                                                          const char* subject) const;

    /// How many elements an attribute has.
    [[nodiscard]] std::int64_t count(int attribute, int type) const {
        return library_.get_attribute(raw_, attribute, type, 0, nullptr, subject_);
    }

private:
    Library library_;
    const char* subject_;
    void* raw_;
};

}  // namespace tconv::cudnn
