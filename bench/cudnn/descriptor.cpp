#include "bench/cudnn/descriptor.hpp"

#include <cudnn_graph.h>

namespace tconv::cudnn {

std::vector<Descriptor> Descriptor::get_descriptors(int attribute, int element, std::int64_t most,
                                                    const char* subject) const {
    std::vector<Descriptor> found;
    std::vector<void*> raw;
    for (std::int64_t i = 0; i < most; ++i) {
        found.emplace_back(library_, element, subject);
        raw.push_back(found.back().raw());
    }
    const std::int64_t there =
        library_.get_attribute(raw_, attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, raw.data(), subject_);
    while (static_cast<std::int64_t>(found.size()) > there)
        found.pop_back();
    return found;
}

}  // namespace tconv::cudnn
