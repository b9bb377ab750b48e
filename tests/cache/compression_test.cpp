#include "cache/compression.hpp"

#include <limits>
#include <random>

#include "tests/catch.hpp"

using namespace tconv;

TEST_CASE("compressed bytes come back, and only with their own size") {
    std::mt19937 random(1);
    for (const std::size_t size : {0u, 1u, 100u, 70000u}) {
        std::string bytes(size, 'a');
        for (std::size_t i = 0; i < size; i += 3)
            bytes[i] = static_cast<char>(random());
        const std::string compressed = compress(bytes);
        const auto length = static_cast<std::int64_t>(size);
        CHECK(decompress(compressed, length) == bytes);
        CHECK_FALSE(decompress(compressed, length + 1));
        CHECK_FALSE(decompress(compressed, length - 1));
    }
}

TEST_CASE("damaged data and sizes that cannot be are nothing") {
    const std::string compressed = compress(std::string(5000, 'x'));
    CHECK_FALSE(decompress(compressed.substr(0, compressed.size() / 2), 5000));
    CHECK_FALSE(decompress("not zlib", 8));
    CHECK_FALSE(decompress("", 1));
    CHECK_FALSE(decompress(compressed, -1));
    CHECK_FALSE(decompress(compressed, std::numeric_limits<std::int64_t>::max()));
}
