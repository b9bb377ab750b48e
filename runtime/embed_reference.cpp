// Build tool: compiles reference.cu with NVRTC for the usual architectures and writes a source file that defines
// reference_images(). Usage: tconv_embed_reference OUTPUT.cpp
#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "device/nvrtc/nvrtc.hpp"
#include "kernel_sources/reference.hpp"
#include "kernel_sources/sources.hpp"

namespace {

using namespace tconv;

constexpr std::array<int, 7> k_capabilities{75, 80, 86, 89, 90, 100, 120};

struct Image {
    int capability = 0;
    bool ptx = false;
    std::string code;
};

/// Nothing where this NVRTC does not know the architecture (one thing it throws for; real mistakes are results).
std::optional<Image> compile(Compiler& compiler, int capability, bool ptx) {
    CompileRequest request;
    request.name = k_reference_file;
    request.source = expand_includes(k_reference_file);
    request.architecture = fmt::format("{}_{}", ptx ? "compute" : "sm", capability);
    CompileResult result;
    try {
        result = compiler.compile(request);
    } catch (const Error& error) {
        fmt::print("Left out {}: {}\n", request.architecture, error.what());
        return std::nullopt;
    }
    if (!result.ok) {
        throw Error(ErrorKind::compile,
                    fmt::format("{} does not compile for {}:\n{}", request.name, request.architecture, result.log));
    }
    return Image{capability, ptx, result.code.code};
}

std::vector<Image> compile_all() {
    const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler();
    std::vector<std::future<std::optional<Image>>> running;
    for (const int capability : k_capabilities)
        running.push_back(
            std::async(std::launch::async, [&, capability] { return compile(*compiler, capability, false); }));
    std::vector<Image> images;
    for (auto& image : running) {
        if (std::optional<Image> done = image.get()) images.push_back(std::move(*done));
    }
    if (images.empty()) throw Error(ErrorKind::compile, "NVRTC knows none of the usual architectures");
    if (std::optional<Image> ptx = compile(*compiler, images.front().capability, true))
        images.push_back(std::move(*ptx));
    return images;
}

std::string deflate(const std::string& bytes) {
    uLongf size = compressBound(static_cast<uLong>(bytes.size()));
    std::string result(size, '\0');
    if (compress2(reinterpret_cast<Bytef*>(result.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                  static_cast<uLong>(bytes.size()), Z_BEST_COMPRESSION) != Z_OK) {
        throw Error(ErrorKind::compile, "zlib failed");
    }
    result.resize(size);
    return result;
}

std::string source_text(const std::vector<Image>& images) {
    std::string text = "#include \"runtime/reference_code.hpp\"\n\nnamespace tconv {\nnamespace {\n\n";
    std::string table;
    for (std::size_t i = 0; i < images.size(); ++i) {
        const std::string deflated = deflate(images[i].code);
        fmt::format_to(std::back_inserter(text), "constexpr unsigned char k_image_{}[] = {{", i);
        for (const char byte : deflated)
            fmt::format_to(std::back_inserter(text), "{},", static_cast<unsigned char>(byte));
        text += "};\n";
        fmt::format_to(
            std::back_inserter(table),
            "        {{{}, {}, {}, {}, {{reinterpret_cast<const char*>(k_image_{}), sizeof k_image_{}}}}},\n",
            images[i].capability / 10, images[i].capability % 10, images[i].ptx, images[i].code.size(), i, i);
    }
    return text + "\n}  // namespace\n\nconst std::vector<ReferenceImage>& reference_images() {\n" +
           "    static const std::vector<ReferenceImage> images{\n" + table +
           "    };\n    return images;\n}\n\n}  // namespace tconv\n";
}

void write_whole(const std::filesystem::path& path, const std::string& text) {
    const std::filesystem::path temporary = path.string() + ".new";
    std::ofstream file(temporary, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw Error(ErrorKind::cache, fmt::format("{} cannot be written", temporary.string()));
    std::filesystem::rename(temporary, path);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("Usage: tconv_embed_reference OUTPUT.cpp\n", stderr);
        return 2;
    }
    try {
        write_whole(argv[1], source_text(compile_all()));
    } catch (const std::exception& error) {
        fmt::print(stderr, "tconv_embed_reference: {}\n", error.what());
        return 1;
    }
    return 0;
}
