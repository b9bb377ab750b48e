#include "tools/targets.hpp"

#include <cstdlib>
#include <random>

#include "tests/support/scratch_folder.hpp"
#include "tests/tools/process.hpp"
#include "tests/tools/rejects.hpp"

using namespace tconv;
using namespace tconv::tests;

namespace {

/// A sound description with one line taken out or replaced.
std::string described(const std::string& line = "", const std::string& instead = "") {
    std::string text =
        "# a device\n"
        "name: Some GPU\n"
        "compute_capability: 9.0\n"
        "multiprocessors: 132\n"
        "registers_per_multiprocessor: 65536\n"
        "shared_memory_per_multiprocessor: 233472\n"
        "shared_memory_per_block: 232448\n"
        "l2_bytes: 62914560\n"
        "memory_bytes: 150109945856\n"
        "rates:\n"
        "  copy_bytes_per_second: 3.95e12\n";
    if (!line.empty()) text.replace(text.find(line), line.size(), instead);
    return text;
}

/// TCONV_TARGETS while the object lives.
struct TargetsFolder {
    explicit TargetsFolder(const std::string& folder) { setenv("TCONV_TARGETS", folder.c_str(), 1); }
    TargetsFolder(const TargetsFolder&) = delete;
    TargetsFolder& operator=(const TargetsFolder&) = delete;
    ~TargetsFolder() { unsetenv("TCONV_TARGETS"); }
};

}  // namespace

TEST_CASE("the targets that come along are sound, and an H200 is described as its driver does") {
    const std::vector<Target> targets = load_targets();
    CHECK(targets.size() == 5);
    for (const Target& target : targets) {
        INFO(target.info.name);
        CHECK(target.info.kind == DeviceKind::cuda);
        CHECK(target.info.shared_memory_per_multiprocessor - target.info.shared_memory_per_block == 1024);
        CHECK(target.rates.copy_bytes_per_second > 5e11);
        CHECK(target.rates.fma_flops_per_second > 1e13);
        CHECK(target.rates.tf32_flops_per_second >= target.rates.fma_flops_per_second);
        CHECK(target.rates.bf16_flops_per_second > target.rates.tf32_flops_per_second);
    }
    const Target h200 = find_target("h200");
    CHECK(device_key(h200.info) == "NVIDIA H200, cc 9.0, 132 multiprocessors");
    CHECK(h200.info.shared_memory_per_block == 232448);
    CHECK(h200.info.l2_bytes == std::int64_t{60} << 20);
}

TEST_CASE("a target goes by its name in any case, or by a part that no other has") {
    CHECK(find_target("NVIDIA L40S").info.name == "NVIDIA L40S");
    CHECK(find_target("l40").info.name == "NVIDIA L40S");
    CHECK(find_target("geforce rtx").info.multiprocessors == 128);
    check_rejection([] { (void)find_target("H"); }, {"--target (H)", "part of one device's name"});
    check_rejection([] { (void)find_target("nvidia"); }, {"NVIDIA A100-SXM4-80GB"});
    check_rejection([] { (void)find_target("voodoo"); }, {"--target (voodoo)", "NVIDIA H200"});
    check_rejection([] { (void)find_target(""); }, {"--target ()"});
}

TEST_CASE("a target may be a file, and a folder may take the place of what comes along") {
    const test::ScratchFolder folder;
    write_file(folder / "mine.yaml", described());
    CHECK(find_target(folder.file("mine.yaml")).info.name == "Some GPU");
    check_rejection([&] { (void)find_target(folder.file("none.yaml")); }, {"none.yaml", "cannot be read"});
    check_rejection([&] { (void)find_target(folder.path().string()); }, {"directory"});
    const TargetsFolder set(folder.path().string());
    CHECK(load_targets().size() == 1);
    CHECK(find_target("some").info.name == "Some GPU");
    write_file(folder / "twice.yaml", described());
    check_rejection([] { (void)load_targets(); }, {"twice.yaml:1:", "Some GPU is described twice"});
    const TargetsFolder none(folder.file("none"));
    check_rejection([] { (void)load_targets(); }, {"TCONV_TARGETS", "none"});
}

TEST_CASE("a faulty description is named with its line") {
    struct Case {
        std::string text;
        std::vector<std::string> parts;
    };
    const std::vector<Case> table{
        {"", {"f.yaml:1:", "must be a map"}},
        {"- 1\n", {"f.yaml:1:", "must be a map"}},
        {"a: [1\nb: }\n", {"f.yaml:2:", "no YAML"}},
        {described() + "---\na: 1\n", {"f.yaml:13:", "one document"}},
        {described("name: Some GPU\n"), {"f.yaml:2:", "has no name"}},
        {described("l2_bytes: 62914560\n"), {"has no l2_bytes"}},
        {described("Some GPU", "[a]"), {"f.yaml:2:", "single value"}},
        {described("Some GPU", "\"\""), {"f.yaml:2:", "product's name"}},
        {described("9.0", "9"), {"f.yaml:3:", "compute_capability (9)", "such as 9.0"}},
        {described("9.0", "x.0"), {"f.yaml:3:", "compute_capability (x.0)"}},
        {described("132", "0"), {"f.yaml:4:", "multiprocessors (0)", "from 1"}},
        {described("132", "-3"), {"f.yaml:4:", "multiprocessors (-3)"}},
        {described("132", "1.5"), {"f.yaml:4:", "multiprocessors (1.5)"}},
        {described("132", "99999999999999999999"), {"f.yaml:4:", "multiprocessors"}},
        {described("132", "99999999999"), {"f.yaml:4:", "to 10000"}},
        {described("232448", "233473"), {"f.yaml:7:", "must not exceed", "233472"}},
        {described("l2_bytes", "l3_bytes"), {"f.yaml:8:", "unknown key (l3_bytes)"}},
        {described("l2_bytes: 62914560", "l2_bytes: 1\nl2_bytes: 2"), {"f.yaml:9:", "stands twice"}},
        {described("copy_bytes", "copied_bytes"), {"f.yaml:11:", "unknown rate (copied_bytes_per_second)"}},
        {described("3.95e12", "fast"), {"f.yaml:11:", "(fast)", "above 0"}},
        {described("3.95e12", "-1"), {"f.yaml:11:", "above 0"}},
        {described("3.95e12", "inf"), {"f.yaml:11:", "above 0"}},
        {described("rates:\n  copy_bytes_per_second: 3.95e12\n", "rates: 7\n"), {"f.yaml:10:", "must be a map"}},
    };
    CHECK_NOTHROW(parse_target(described(), "f.yaml"));
    for (const Case& faulty : table) {
        INFO(faulty.text);
        check_rejection([&] { (void)parse_target(faulty.text, "f.yaml"); }, faulty.parts);
    }
}

TEST_CASE("what describe_target writes is read back as it was") {
    std::mt19937 random(3);
    const auto below = [&](unsigned count) { return static_cast<int>(random() % count); };
    for (int round = 0; round < 200; ++round) {
        Target target;
        target.info.kind = DeviceKind::cuda;
        target.info.name = round == 0 ? "A \"quoted\" \\ GPU: #1 {x} \xc3\xa9" : "GPU " + std::to_string(random());
        target.info.compute_major = below(100);
        target.info.compute_minor = below(100);
        target.info.multiprocessors = 1 + below(1000);
        target.info.warp_size = 1 + below(64);
        target.info.max_threads_per_block = 1 + below(2048);
        target.info.registers_per_multiprocessor = 1 + below(1'000'000);
        target.info.shared_memory_per_multiprocessor = 1 + below(1'000'000);
        target.info.shared_memory_per_block = 1 + below(1000) % target.info.shared_memory_per_multiprocessor;
        target.info.l2_bytes = 1 + below(1'000'000'000);
        target.info.memory_bytes = std::int64_t{1 + below(1000)} << 30;
        if (below(2) == 0) target.rates.copy_bytes_per_second = 1e12 / (1 + below(1000));
        if (below(2) == 0) target.rates.fma_flops_per_second = 1e14 / (1 + below(1000));
        if (below(2) == 0) target.rates.tf32_flops_per_second = 1e15 / (1 + below(1000));
        if (below(2) == 0) target.rates.bf16_flops_per_second = 1e15 / (1 + below(1000));
        const std::string text = describe_target(target);
        INFO(text);
        const Target back = parse_target(text, "f.yaml");
        CHECK(back.info == target.info);
        CHECK(back.rates.copy_bytes_per_second == target.rates.copy_bytes_per_second);
        CHECK(back.rates.fma_flops_per_second == target.rates.fma_flops_per_second);
        CHECK(back.rates.tf32_flops_per_second == target.rates.tf32_flops_per_second);
        CHECK(back.rates.bf16_flops_per_second == target.rates.bf16_flops_per_second);
    }
}

TEST_CASE("tconv devices lists the targets, and describes only what is there") {
    const test::ScratchFolder folder;
    const Finished list = run_tconv({"devices", "--targets"}, folder.path());
    CHECK(list.exit_code == 0);
    CHECK(list.out.find("NVIDIA GeForce RTX 4090") != std::string::npos);
    for (const auto& [text, part] :
         std::vector<std::pair<std::string, std::string>>{{"emulator", "must be cuda:N"},
                                                          {"cuda:x", "--describe cuda:N (x)"},
                                                          {"cuda:999", "--describe (cuda:999)"}}) {
        const Finished refused = run_tconv({"devices", "--describe", text}, folder.path());
        INFO(refused.err);
        CHECK(refused.exit_code == 2);
        CHECK(refused.out.empty());
        CHECK(refused.err.find(part) != std::string::npos);
    }
}

#ifdef TCONV_FAKE_DRIVER
TEST_CASE("a present device is described with the rates that were measured on it") {
    const test::ScratchFolder folder;
    const std::vector<std::string> driver{std::string("TCONV_CUDA_DRIVER=") + TCONV_FAKE_DRIVER};
    const Finished plain = run_tconv({"devices", "--describe", "cuda:0"}, folder.path(), driver);
    INFO(plain.out << plain.err);
    REQUIRE(plain.exit_code == 0);
    CHECK(plain.out.find("name: \"Fake GPU\"\n") == 0);
    CHECK(plain.out.find("memory_bytes: 8589934592\n") != std::string::npos);
    CHECK(plain.out.find("rates") == std::string::npos);
    // The fake driver's answers are numbers that tell the questions apart.
    DeviceInfo fake;
    fake.name = "Fake GPU";
    fake.compute_major = 1075;
    fake.compute_minor = 1076;
    fake.multiprocessors = 1016;
    Database(folder / "t.db", OpenMode::read_write).store_ceilings(fake, {1.25e12, 2e13, 0.002, 3e14, 0});
    const Finished rated =
        run_tconv({"devices", "--describe", "cuda:0", "--database", folder.file("t.db")}, folder.path(), driver);
    INFO(rated.out);
    const std::string start = plain.out + "rates:";
    CHECK(rated.out.rfind(start, 0) == 0);
    const Target read = parse_target(
        described("rates:\n  copy_bytes_per_second: 3.95e12\n", rated.out.substr(plain.out.size())), "f.yaml");
    CHECK(read.rates.copy_bytes_per_second == 1.25e12);
    CHECK(read.rates.fma_flops_per_second == 2e13);
    CHECK(read.rates.tf32_flops_per_second == 3e14);
    CHECK(read.rates.bf16_flops_per_second == 0);
    const Finished beyond = run_tconv({"devices", "--describe", "cuda:9"}, folder.path(), driver);
    CHECK(beyond.exit_code == 2);
    CHECK(beyond.err.find("must be below cuda:1") != std::string::npos);
}
#endif
