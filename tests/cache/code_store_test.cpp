#include "cache/code_store.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <random>

#include "scratch.hpp"
#include "tests/catch.hpp"

using namespace tconv;
using namespace tconv::test;
namespace fs = std::filesystem;

namespace {

std::string random_bytes(std::size_t size, unsigned seed) {
    std::mt19937 random(seed);
    std::string bytes(size, '\0');
    for (char& byte : bytes)
        byte = static_cast<char>(random());
    return bytes;
}

}  // namespace

TEST_CASE("an entry comes back as it was put, from another store too") {
    const ScratchFolder scratch;
    const CodeStore store(scratch / "code");
    for (const std::size_t size : {0u, 1u, 63u, 4096u, 300000u}) {
        const std::string bytes = random_bytes(size, 1);
        const std::string key = "key" + std::to_string(size);
        CHECK_FALSE(store.get(key, "so"));
        const fs::path path = store.put(key, "so", bytes);
        CHECK(path == store.path_of(key, "so"));
        CHECK(CodeStore(scratch / "code").get(key, "so") == bytes);
        CHECK_FALSE(store.get(key, "cubin"));
        // Loaders that are given the path see the bytes first.
        CHECK(read_bytes(path).substr(0, size) == bytes);
    }
}

TEST_CASE("a damaged, cut or unreadable entry is a miss and can be put again") {
    const ScratchFolder scratch;
    const CodeStore store(scratch / "code");
    const std::string bytes = random_bytes(1000, 2);
    const fs::path path = store.put("key", "so", bytes);
    const std::string whole = read_bytes(path);
    for (std::size_t position = 0; position < whole.size(); position += 7) {
        std::string changed = whole;
        changed[position] = static_cast<char>(changed[position] ^ 0x20);
        write_bytes(path, changed);
        CHECK_FALSE(store.get("key", "so"));
        write_bytes(path, whole.substr(0, position));
        CHECK_FALSE(store.get("key", "so"));
    }
    store.put("key", "so", bytes);
    CHECK(store.get("key", "so") == bytes);
    fs::remove(path);
    fs::create_directory(path);
    CHECK_FALSE(store.get("key", "so"));
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK_FALSE(store.get("key", "so"));
}

TEST_CASE("processes that put one key at once all end with a whole entry, and nothing else lies there") {
    const ScratchFolder scratch;
    const fs::path folder = scratch / "code";
    for (int round = 0; round < 5; ++round) {
        const std::string key = "key" + std::to_string(round);
        const std::vector<int> codes = run_together(12, [&](int number) {
            const CodeStore store(folder);
            const std::string mine = random_bytes(200000, static_cast<unsigned>(number));
            store.put(key, "so", mine);
            const auto seen = store.get(key, "so");
            if (!seen) return 1;
            for (unsigned other = 0; other < 12; ++other) {
                if (*seen == random_bytes(200000, other)) return 0;
            }
            return 2;
        });
        for (const int code : codes)
            CHECK(code == 0);
    }
    CHECK(names_in(folder).size() == 5);
}

TEST_CASE("a write that fails names the file and leaves nothing behind") {
    const ScratchFolder scratch;
    const int code = run_in_child([&] {
        const CodeStore store(scratch / "code");
        const rlimit limit{1000, 1000};
        std::signal(SIGXFSZ, SIG_IGN);
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return k_skipped;
        const std::string error = cache_error([&] { store.put("key", "so", random_bytes(5000, 3)); });
        return error.find("key.so") != std::string::npos ? 0 : 1;
    });
    CHECK(code == 0);
    CHECK(names_in(scratch / "code").empty());
}

TEST_CASE("a key that could leave the folder is refused") {
    const ScratchFolder scratch;
    const CodeStore store(scratch / "code");
    for (const char* const key : {"", "..", "a/b", "../x", "a.b", "a b"}) {
        CHECK(cache_error([&] { store.put(key, "so", "x"); }).find("letters and digits") != std::string::npos);
        CHECK(cache_error([&] { (void)store.get("key", key); }).find("letters and digits") != std::string::npos);
    }
}

TEST_CASE("a store in a folder that others can write to is refused") {
    const ScratchFolder scratch;
    fs::create_directory(scratch / "code");
    fs::permissions(scratch / "code", fs::perms::all);
    CHECK_FALSE(cache_error([&] { const CodeStore store(scratch / "code"); }).empty());
}

TEST_CASE("the keys of a kind of code are listed, sound or not") {
    const ScratchFolder scratch;
    const CodeStore store(scratch / "code");
    CHECK(store.keys("cubin").empty());
    for (const char* const key : {"b", "a", "c"})
        store.put(key, "cubin", "code");
    store.put("d", "so", "code");
    write_bytes(scratch / "code" / "b.cubin", "damaged");
    write_bytes(scratch / "code" / "e.cubin.XYZ123", "being written");
    write_bytes(scratch / "code" / "no name.cubin", "x");
    CHECK(store.keys("cubin") == std::vector<std::string>{"a", "b", "c"});
    CHECK(store.keys("so") == std::vector<std::string>{"d"});
    CHECK(cache_error([&] { (void)store.keys("../x"); }).find("../x") != std::string::npos);
}
