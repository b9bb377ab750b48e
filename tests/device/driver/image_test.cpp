#include "device/driver/image.hpp"

#include <elf.h>

#include <cstring>
#include <random>
#include <string>

#include "core/error.hpp"
#include "tests/catch.hpp"

namespace {

using namespace tconv;

// The smallest well-formed ELF file with one section and one segment that hold `payload`.
std::string make_elf(const std::string& payload) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    header.e_shoff = sizeof header + sizeof(Elf64_Phdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 1;
    Elf64_Phdr segment{};
    Elf64_Shdr section{};
    section.sh_type = SHT_PROGBITS;
    section.sh_offset = segment.p_offset = sizeof header + sizeof segment + sizeof section;
    section.sh_size = segment.p_filesz = payload.size();

    std::string image(section.sh_offset, '\0');
    std::memcpy(image.data(), &header, sizeof header);
    std::memcpy(image.data() + sizeof header, &segment, sizeof segment);
    std::memcpy(image.data() + sizeof header + sizeof segment, &section, sizeof section);
    return image + payload;
}

}  // namespace

TEST_CASE("a whole cubin and PTX text pass") {
    CHECK_NOTHROW(check_image(make_elf("code")));
    CHECK_NOTHROW(check_image("// PTX\n.version 8.0\n.target sm_75\n"));
    CHECK_NOTHROW(check_image(std::string(".version 8.0\n.target sm_75\n") + '\0'));
}

TEST_CASE("every truncation of a cubin is refused") {
    const std::string image = make_elf("code");
    for (std::size_t size = 0; size < image.size(); ++size) {
        INFO("size " << size);
        CHECK_THROWS_AS(check_image(image.substr(0, size)), Error);
    }
}

TEST_CASE("anything else is refused") {
    CHECK_THROWS_AS(check_image(""), Error);
    CHECK_THROWS_AS(check_image("hello"), Error);
    std::string other_magic("\x50\xed\x55\xba", 4);
    other_magic.resize(104);
    CHECK_THROWS_AS(check_image(other_magic), Error);
    CHECK_THROWS_AS(check_image(std::string(".version 8.0\0.target sm_75", 26)), Error);
}

TEST_CASE("random damage either passes or is refused, without reading outside the image") {
    std::mt19937_64 random(7);
    const std::string whole = make_elf("some code");
    for (int round = 0; round < 5000; ++round) {
        std::string image = whole;
        for (int i = 0; i < 4; ++i)
            image[random() % image.size()] = static_cast<char>(random());
        try {
            check_image(image);
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::device);
        }
    }
}
