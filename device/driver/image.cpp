#include "device/driver/image.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "core/error.hpp"

namespace tconv {
namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw Error(ErrorKind::device, "The machine code cannot be loaded: " + what + ".");
}

bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
    return offset <= size && bytes <= size - offset;
}

template <class Header>
Header read_at(std::string_view image, std::uint64_t offset) {
    Header header;
    std::memcpy(&header, image.data() + offset, sizeof header);
    return header;
}

void check_sections(std::string_view image, const Elf64_Ehdr& header) {
    if (header.e_shnum != 0 && header.e_shentsize != sizeof(Elf64_Shdr)) refuse("its section table is malformed");
    if (!inside(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), image.size()))
        refuse("it is cut short");
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
        const auto section = read_at<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
        if (section.sh_type != SHT_NOBITS && !inside(section.sh_offset, section.sh_size, image.size()))
            refuse("a section lies outside it");
    }
}

void check_segments(std::string_view image, const Elf64_Ehdr& header) {
    if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr)) refuse("its segment table is malformed");
    if (!inside(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), image.size()))
        refuse("it is cut short");
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
        const auto segment = read_at<Elf64_Phdr>(image, header.e_phoff + i * sizeof(Elf64_Phdr));
        if (!inside(segment.p_offset, segment.p_filesz, image.size())) refuse("a segment lies outside it");
    }
}

bool looks_like_ptx(std::string_view image) {
    return image.find(".version") != std::string_view::npos && image.find(".target") != std::string_view::npos &&
           image.substr(0, image.find_last_not_of('\0') + 1).find('\0') == std::string_view::npos;
}

}  // namespace

void check_image(std::string_view image) {
    if (image.substr(0, SELFMAG) != std::string_view(ELFMAG, SELFMAG)) {
        if (!looks_like_ptx(image)) refuse("it is neither a cubin nor PTX");
        return;
    }
    if (image.size() < sizeof(Elf64_Ehdr)) refuse("it is cut short");
    const auto header = read_at<Elf64_Ehdr>(image, 0);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        refuse("it is no 64-bit little-endian file");
    check_sections(image, header);
    check_segments(image, header);
}

}  // namespace tconv
