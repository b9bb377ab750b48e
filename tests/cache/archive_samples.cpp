#include "archive_samples.hpp"

#include <algorithm>
#include <random>

#include "cache/archive.hpp"
#include "cache/code_store.hpp"
#include "cache/database.hpp"
#include "cache/gzip.hpp"
#include "core/hash.hpp"
#include "samples.hpp"
#include "scratch.hpp"
#include "tests/catch.hpp"

namespace tconv::test {
namespace {

Trial random_trial(std::mt19937& random, int number) {
    const auto below = [&](unsigned count) { return static_cast<std::int64_t>(random() % count); };
    const auto fraction = [&] { return static_cast<double>(random()) / 4294967296.0; };
    Trial trial = sample_trial(sample_problem(1 + below(5)), static_cast<int>(below(40)), 0.1 + fraction());
    trial.problem_name = below(2) == 0 ? "" : "layer " + std::to_string(trial.problem.batch) + " \xc3\xa9'\";--";
    trial.template_name = below(2) == 0 ? "direct" : "matrix";
    trial.template_hash = content_hash("template " + std::to_string(below(3)));
    trial.outcome.kind = static_cast<OutcomeKind>(below(4));
    trial.outcome.reason = std::string(static_cast<std::size_t>(below(20)), 'r');
    trial.outcome.error.relative = below(8) == 0 ? std::nan("") : fraction() * 1e-3;
    trial.outcome.timing.samples.assign(static_cast<std::size_t>(below(6)), fraction());
    trial.outcome.timing.dropped_early = below(2) == 0;
    if (below(5) == 0) trial.outcome.plan = {};
    trial.strict = number % 3 != 0;
    trial.reach = number % 2 == 0 ? 0 : 1e-2;
    const std::string binary = sample_binary(number);
    trial.outcome.binary_key = content_hash(binary);
    return trial;
}

}  // namespace

void fill(const Machine& machine, unsigned seed, int trials) {
    std::mt19937 random(seed);
    DeviceInfo other_gpu = sample_gpu();
    other_gpu.name = "Other GPU";
    const std::vector<DeviceInfo> devices{sample_gpu(), other_gpu, sample_emulator()};
    const CodeStore store(machine.code);
    Database database(machine.database, OpenMode::read_write);
    for (int i = 0; i < trials; ++i) {
        const DeviceInfo& device = devices[random() % devices.size()];
        const int number = static_cast<int>(random() % 1000);
        const bool with_code = device.kind == DeviceKind::cuda && random() % 3 != 0;
        database.record(device, random_trial(random, number), with_code ? sample_binary(number) : std::string());
        if (random() % 2 == 0) store.put(content_hash("code" + std::to_string(number)), "cubin", sample_binary(number));
        if (random() % 4 == 0) database.note_request(device, sample_problem(1 + random() % 9), 1e-4);
    }
    for (const DeviceInfo& device : devices)
        database.store_ceilings(device, {1e12 + static_cast<double>(random() % 1000), 2e13, 0.002, 3e14, 4e14});
    store.put(content_hash("host code"), "so", "host code");
}

std::vector<std::string> content_of(const std::filesystem::path& database) {
    std::vector<std::string> content;
    for (const char* const table : {"device", "problem", "template", "binary", "trial", "request", "ceilings"}) {
        const std::string name = table;
        std::string row = "'" + name + "'";
        for (const std::string& column :
             query_sql(database, "SELECT name FROM pragma_table_info('" + name + "') WHERE name <> 'id'")) {
            std::string value = name + "." + column;
            if (name == "trial" || name == "request" || name == "ceilings") {
                if (column == "problem" || column == "device")
                    value = "(SELECT key FROM " + column + " x WHERE x.id = " + value + ")";
                if (column == "template")
                    value = "(SELECT name || source_hash FROM template x WHERE x.id = " + value + ")";
            }
            row += " || '|' || quote(" + value + ")";
        }
        const auto rows = query_sql(database, "SELECT " + row + " FROM " + name);
        content.insert(content.end(), rows.begin(), rows.end());
    }
    std::sort(content.begin(), content.end());
    return content;
}

void export_from(const Machine& machine, const std::filesystem::path& file) {
    const Environment set({{"TCONV_CACHE", machine.code.string()}});
    CHECK(export_archive({file, machine.database, true, std::nullopt}).warnings.empty());
}

std::vector<std::string> import_into(const Machine& machine, const std::filesystem::path& file) {
    const Environment set({{"TCONV_CACHE", machine.code.string()}});
    return import_archive(file, machine.database).warnings;
}

void tamper(const std::filesystem::path& archive, const std::string& sql) {
    tamper(archive, [&](const std::filesystem::path& database) { run_sql(database, sql); });
}

void tamper(const std::filesystem::path& archive, const std::function<void(const std::filesystem::path&)>& change) {
    const std::filesystem::path copy = archive.string() + ".db";
    decompress_file(archive, copy, std::int64_t{1} << 30);
    change(copy);
    FileInMaking file(archive);
    compress_file(copy, file);
    file.put_in_place();
    std::filesystem::remove(copy);
}

}  // namespace tconv::test
