#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tconv {

/// What the copy engine takes the elements of a tensor map for. Bits are copied as they are but for tf32: an f32 in
/// memory that is rounded to 10 fraction bits (to nearest, ties to even) on its way.
enum class MapElement { f32, tf32, f16, bf16, u8 };

[[nodiscard]] std::string_view to_string(MapElement element);
/// The reverse of to_string; throws Error(bad_input).
[[nodiscard]] MapElement parse_map_element(std::string_view text);
/// Bytes.
[[nodiscard]] std::int64_t size_of(MapElement element);

inline constexpr std::size_t k_most_map_dimensions = 5;

/// A strided array of up to five dimensions in device memory and the box of it that one copy to shared memory moves, as
/// compute capability 9.0 does it on its own (TMA). What a box holds outside the array arrives as zeros. In dense
/// order: no interleaving, every element. Dimensions are listed innermost first; the array's address is known at the
/// launch.
struct TensorMap {
    MapElement element = MapElement::f32;
    std::vector<std::int64_t> extents;  ///< elements, of one batch entry
    std::vector<std::int64_t> strides;  ///< bytes, of every dimension but the innermost, whose elements are neighbours
    std::vector<std::int64_t> box;      ///< elements
    /// Bytes of a row in shared memory within which 16-byte pieces are exchanged against bank conflicts: 0 (not at
    /// all), 32, 64 or 128.
    std::int64_t swizzle = 0;
    int batch_dimension = -1;         ///< its extent is multiplied by the batch of the call; -1: none
    std::int64_t l2_promotion = 128;  ///< bytes that the L2 fetches at a time: 0 (as needed), 64, 128 or 256
    friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

/// Elements along a dimension in a call with `batch` entries.
[[nodiscard]] std::int64_t extent_for(const TensorMap& map, std::size_t dimension, std::int64_t batch);

/// The same map for a call with `batch` entries: its batch dimension is multiplied out.
[[nodiscard]] TensorMap for_batch(const TensorMap& map, std::int64_t batch);

/// True where the batch dimension of a call with `batch` entries is within the limits of the hardware.
[[nodiscard]] bool map_serves_batch(const TensorMap& map, std::int64_t batch);

/// Bytes from the array's first element to behind its last one.
[[nodiscard]] std::int64_t span_bytes(const TensorMap& map);

/// Bytes that a copy of a box writes to shared memory, and counts.
[[nodiscard]] std::int64_t box_bytes(const TensorMap& map);

/// The memory that a map lies in: fixed bytes and, for each batch entry, more.
struct MappedMemory {
    std::int64_t bytes = 0;
    std::int64_t bytes_per_batch = 0;
};

/// Checks a map against the hardware's rules, its extents for `batch` entries too, and that the array, `offset` bytes
/// into its memory, lies inside it whatever the batch. Throws Error(bad_input) naming `subject` and the rule.
void check_tensor_map(const TensorMap& map, std::int64_t offset, const MappedMemory& memory, std::int64_t batch,
                      const std::string& subject);

}  // namespace tconv
