#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/tools/process.hpp"

using namespace tconv;
using namespace tconv::tests;

namespace {

const char* const k_layers = R"(
small:
  - {name: first, n: 1, c_in: 3, c_out: 2, input: [9], kernel: 4, stride: 2, bias: true}
  - {name: second, n: 2, c_in: 2, c_out: 3, input: [4, 5], kernel: 3}
huge:
  - {name: third, n: 8, c_in: 64, c_out: 64, input: [96, 96, 96], kernel: 3}
)";

}  // namespace

TEST_CASE("the bench runs on the emulator, says that these are no GPU figures, and can be shown and compared again") {
    const test::ScratchFolder folder;
    write_file(folder / "layers.yaml", k_layers);
    const std::string json = (folder / "run.json").string();
    CHECK(run_tconv({"tune", "--layers", (folder / "layers.yaml").string(), "--only", "small", "--device", "emulator",
                     "--trials", "3"},
                    folder.path())
              .exit_code == 0);
    const Finished run = run_tconv({"bench", "--layers", (folder / "layers.yaml").string(), "--device", "emulator",
                                    "--modes", "fp32,bf16", "--tune-time", "0", "--json", json},
                                   folder.path());
    INFO(run.err);
    CHECK(run.exit_code == 0);
    CHECK_THAT(run.out, contains("no GPU figures"));
    CHECK_THAT(run.out, contains("third fp32 nchw: tconv: the problem takes"));

    const auto document = nlohmann::json::parse(read_file(json));
    CHECK(document.at("emulated") == true);
    REQUIRE(document.at("results").size() == 6);
    const auto& first = document.at("results").at(0);
    CHECK(first.at("layer") == "first");
    CHECK(first.at("group") == "small");
    CHECK(first.at("mode") == "fp32");
    CHECK(first.at("tconv").at("family") != "reference");
    CHECK(first.at("tconv").at("samples").size() >= 7);
    CHECK(first.at("peer").is_null());
    CHECK(document.at("results").at(1).at("tconv").at("family") == "reference");
    CHECK(document.at("results").at(4).at("tconv").is_null());

    const Finished again = run_tconv({"bench", "--from", json, "--compare", json}, folder.path());
    CHECK(again.exit_code == 0);
    CHECK(again.out.rfind(run.out, 0) == 0);
    CHECK_THAT(again.out, contains("0 slower, 0 faster, 4 unchanged"));
}

TEST_CASE("a bench of one problem needs no file, and one of nothing that runs fails") {
    const test::ScratchFolder folder;
    const Finished one = run_tconv(
        {"bench", "--input", "1x2x5", "--weight", "2x3x3", "--device", "emulator", "--tune-time", "0"}, folder.path());
    CHECK(one.exit_code == 0);
    CHECK_THAT(one.out, contains("reference"));
    write_file(folder / "layers.yaml", k_layers);
    const Finished none =
        run_tconv({"bench", "--layers", (folder / "layers.yaml").string(), "--only", "huge", "--device", "emulator"},
                  folder.path());
    CHECK(none.exit_code == 1);
}
