#include "core/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.hpp"

namespace tconv {
namespace {

struct ElementFacts {
    MapElement element;
    std::string_view name;
    std::int64_t bytes;
};
constexpr std::array<ElementFacts, 5> k_elements{{{MapElement::f32, "f32", 4},
                                                  {MapElement::tf32, "tf32", 4},
                                                  {MapElement::f16, "f16", 2},
                                                  {MapElement::bf16, "bf16", 2},
                                                  {MapElement::u8, "u8", 1}}};

constexpr std::int64_t k_piece_bytes = 16;  // what addresses, strides and rows of a box are multiples of
constexpr std::int64_t k_most_extent = (std::int64_t{1} << 32) - 1;
constexpr std::int64_t k_most_stride = (std::int64_t{1} << 40) - 1;
constexpr std::int64_t k_most_box = 256;

const ElementFacts& facts_of(MapElement element) {
    return *std::find_if(k_elements.begin(), k_elements.end(),
                         [&](const ElementFacts& facts) { return facts.element == element; });
}

[[noreturn]] void fail(const std::string& subject, const std::string& sentence) {
    reject(fmt::format("tensor map of {}: {}", subject, sentence));
}

void check_dimensions(const TensorMap& map, std::int64_t batch, const std::string& subject) {
    const std::size_t rank = map.extents.size();
    if (rank < 1 || rank > k_most_map_dimensions)
        fail(subject, fmt::format("dimensions ({}) must be 1 to {}", rank, k_most_map_dimensions));
    if (map.box.size() != rank)
        fail(subject, fmt::format("box ({} extents) must have one for each of {} dimensions", map.box.size(), rank));
    if (map.strides.size() != rank - 1) {
        fail(subject, fmt::format("strides ({}) must be one for each of {} dimensions but the innermost",
                                  map.strides.size(), rank));
    }
    if (map.batch_dimension < -1 || map.batch_dimension >= static_cast<int>(rank))
        fail(subject, fmt::format("batch_dimension ({}) must be -1 to {}", map.batch_dimension, rank - 1));
    for (std::size_t i = 0; i < rank; ++i) {
        const bool grows = map.batch_dimension == static_cast<int>(i);
        const std::int64_t most = grows ? k_most_extent / std::max<std::int64_t>(batch, 1) : k_most_extent;
        if (map.extents[i] < 1 || map.extents[i] > most)
            fail(subject, fmt::format("extent {} ({}) must be 1 to {}", i, map.extents[i], most));
        if (map.box[i] < 1 || map.box[i] > k_most_box)
            fail(subject, fmt::format("box extent {} ({}) must be 1 to {}", i, map.box[i], k_most_box));
        if (i == 0) continue;
        const std::int64_t stride = map.strides[i - 1];
        if (stride < k_piece_bytes || stride > k_most_stride || stride % k_piece_bytes != 0) {
            fail(subject, fmt::format("stride of dimension {} ({} bytes) must be a multiple of {} below 2^40", i,
                                      stride, k_piece_bytes));
        }
    }
}

void check_pattern(const TensorMap& map, const std::string& subject) {
    const std::int64_t row = map.box[0] * size_of(map.element);
    if (row % k_piece_bytes != 0) {
        fail(subject,
             fmt::format("the box's innermost extent ({} bytes) must be a multiple of {} bytes", row, k_piece_bytes));
    }
    if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
        fail(subject, fmt::format("swizzle ({}) must be 0, 32, 64 or 128", map.swizzle));
    // Shorter rows would lie apart in shared memory; nobody needs that.
    if (map.swizzle != 0 && row != map.swizzle) {
        fail(subject,
             fmt::format("the box's innermost extent ({} bytes) must be the swizzle of {} bytes", row, map.swizzle));
    }
    if (map.l2_promotion != 0 && map.l2_promotion != 64 && map.l2_promotion != 128 && map.l2_promotion != 256)
        fail(subject, fmt::format("l2_promotion ({}) must be 0, 64, 128 or 256", map.l2_promotion));
}

/// Like span_bytes, for numbers that are not known to be sane.
bool checked_span(const TensorMap& map, std::int64_t& span) {
    span = map.extents[0] * size_of(map.element);
    for (std::size_t i = 1; i < map.extents.size(); ++i) {
        std::int64_t step = 0;
        if (__builtin_mul_overflow(map.extents[i] - 1, map.strides[i - 1], &step) ||
            __builtin_add_overflow(span, step, &span))
            return false;
    }
    return true;
}

/// Bytes by which the array is longer for each batch entry.
bool checked_growth(const TensorMap& map, std::int64_t& growth) {
    if (map.batch_dimension < 0) return true;
    const auto dimension = static_cast<std::size_t>(map.batch_dimension);
    const std::int64_t stride = dimension == 0 ? size_of(map.element) : map.strides[dimension - 1];
    return !__builtin_mul_overflow(map.extents[dimension], stride, &growth);
}

}  // namespace

std::string_view to_string(MapElement element) {
    return facts_of(element).name;
}

MapElement parse_map_element(std::string_view text) {
    for (const ElementFacts& facts : k_elements) {
        if (facts.name == text) return facts.element;
    }
    throw Error(ErrorKind::bad_input, fmt::format("element ({}) must be f32, tf32, f16, bf16 or u8", text));
}

std::int64_t size_of(MapElement element) {
    return facts_of(element).bytes;
}

std::int64_t extent_for(const TensorMap& map, std::size_t dimension, std::int64_t batch) {
    const bool grows = map.batch_dimension == static_cast<int>(dimension);
    return map.extents[dimension] * (grows ? batch : 1);
}

TensorMap for_batch(const TensorMap& map, std::int64_t batch) {
    TensorMap result = map;
    for (std::size_t i = 0; i < map.extents.size(); ++i)
        result.extents[i] = extent_for(map, i, batch);
    result.batch_dimension = -1;
    return result;
}

bool map_serves_batch(const TensorMap& map, std::int64_t batch) {
    return map.batch_dimension < 0 ||
           batch <= k_most_extent / map.extents[static_cast<std::size_t>(map.batch_dimension)];
}

std::int64_t span_bytes(const TensorMap& map) {
    std::int64_t span = 0;
    (void)checked_span(map, span);
    return span;
}

std::int64_t box_bytes(const TensorMap& map) {
    std::int64_t bytes = size_of(map.element);
    for (const std::int64_t extent : map.box)
        bytes *= extent;
    return bytes;
}

void check_tensor_map(const TensorMap& map, std::int64_t offset, const MappedMemory& memory, std::int64_t batch,
                      const std::string& subject) {
    check_dimensions(map, batch, subject);
    check_pattern(map, subject);
    if (offset < 0 || offset % k_piece_bytes != 0)
        fail(subject, fmt::format("offset ({} bytes) must be a multiple of {}", offset, k_piece_bytes));
    std::int64_t span = 0;
    std::int64_t end = 0;
    const std::int64_t bytes = memory.bytes + memory.bytes_per_batch;
    if (!checked_span(map, span) || __builtin_add_overflow(span, offset, &end) || end > bytes) {
        fail(subject, fmt::format("it must end within the {} bytes that a batch of 1 has (offset {}, {} bytes)", bytes,
                                  offset, span));
    }
    // What lies inside for one entry, and grows no faster than the memory, lies inside for all.
    std::int64_t growth = 0;
    if (!checked_growth(map, growth) || growth > memory.bytes_per_batch) {
        fail(subject, fmt::format("it must not grow by more than the {} bytes that its memory has more for each "
                                  "batch entry ({} bytes)",
                                  memory.bytes_per_batch, growth));
    }
}

}  // namespace tconv
