// The entry points of cuDNN that tconv uses. Descriptors are kept as they are set, engines are those of a script, and
// an execution plan computes the graph by the definition of the operation, in float64 on host memory. See
// fake_cudnn.hpp for the script.
#include "tests/bench/cudnn/fake_cudnn.hpp"

#include <cudnn_graph.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/bench/cudnn/fake_execution.hpp"

namespace {

struct Engine {
    std::string modes;
    std::int64_t number = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> knobs;
    std::vector<std::int64_t> notes;
    std::int64_t workspace = 0;
    int build = 0;
    int run = 0;
    std::int64_t operations = 0;  // 0: any
};

struct Script {
    std::size_t version = 91900;
    int create = 0;
    int operation = 0;
    std::map<std::string, int> heuristics;
    std::vector<Engine> engines;
};

struct Object {
    cudnnBackendDescriptorType_t type{};
    bool finalized = false;
    std::map<int, std::vector<char>> values;
    int engine = -1;  // of the script
    const Object* graph = nullptr;
    std::size_t knob = 0;

    template <class T>
    std::vector<T> get(int attribute) const {
        const auto found = values.find(attribute);
        if (found == values.end()) return {};
        std::vector<T> result(found->second.size() / sizeof(T));
        std::memcpy(result.data(), found->second.data(), result.size() * sizeof(T));
        return result;
    }
    const Object* object(int attribute, std::size_t index = 0) const {
        return static_cast<const Object*>(get<void*>(attribute).at(index));
    }
};

Script script;
std::string last_error;
int live_descriptors = 0;
int live_handles = 0;
std::recursive_mutex mutex;  // of all: plans are made on several threads

cudnnStatus_t refuse(int status, const std::string& reason) {
    last_error = reason;
    return static_cast<cudnnStatus_t>(status);
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        parts.push_back(part);
    return parts;
}

Engine parse_engine(std::istringstream& line) {
    Engine engine;
    line >> engine.modes >> engine.number;
    for (std::string word; line >> word;) {
        const std::string name = word.substr(0, word.find('='));
        const std::string value = word.substr(name.size() + 1);
        if (name == "workspace") engine.workspace = std::stoll(value);
        if (name == "build") engine.build = std::stoi(value);
        if (name == "run") engine.run = std::stoi(value);
        if (name == "operations") engine.operations = std::stoll(value);
        if (name == "notes") {
            for (const std::string& note : split(value, ','))
                engine.notes.push_back(std::stoll(note));
        }
        if (name == "knobs") {
            for (const std::string& knob : split(value, ','))
                engine.knobs.emplace_back(std::stoll(knob), std::stoll(knob.substr(knob.find(':') + 1)));
        }
    }
    return engine;
}

Object* as_object(void* descriptor) {
    return static_cast<Object*>(descriptor);
}

bool accepts(const Engine& engine, const Object& graph) {
    const auto operations = graph.get<void*>(CUDNN_ATTR_OPERATIONGRAPH_OPS).size();
    return engine.operations == 0 || static_cast<std::size_t>(engine.operations) == operations;
}

std::vector<int> engines_for(const Object& question) {
    const Object& graph = *question.object(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    const auto mode = question.get<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE).at(0);
    const char letter = mode == CUDNN_HEUR_MODE_A ? 'A' : mode == CUDNN_HEUR_MODE_B ? 'B' : 'F';
    std::vector<int> found;
    for (std::size_t i = 0; i < script.engines.size(); ++i) {
        const Engine& engine = script.engines[i];
        if (engine.modes.find(letter) != std::string::npos && accepts(engine, graph))
            found.push_back(static_cast<int>(i));
    }
    return found;
}

fake::Tensor tensor_of(const Object& object) {
    return {object.get<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS), object.get<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES),
            static_cast<int>(object.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE).at(0)),
            object.get<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID).at(0)};
}

fake::Work work_of(const Object& graph) {
    fake::Work work;
    const Object& operation = *graph.object(CUDNN_ATTR_OPERATIONGRAPH_OPS);
    const Object& convolution = *operation.object(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
    work.dy = tensor_of(*operation.object(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY));
    work.w = tensor_of(*operation.object(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W));
    work.dx = tensor_of(*operation.object(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX));
    work.stride = convolution.get<std::int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    work.padding = convolution.get<std::int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    work.dilation = convolution.get<std::int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
    if (graph.get<void*>(CUDNN_ATTR_OPERATIONGRAPH_OPS).size() == 2) {
        const Object& addition = *graph.object(CUDNN_ATTR_OPERATIONGRAPH_OPS, 1);
        work.bias = tensor_of(*addition.object(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
        work.dx = tensor_of(*addition.object(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    }
    return work;
}

cudnnStatus_t finalize_engine(Object& engine) {
    engine.graph = engine.object(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
    const auto number = engine.get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX).at(0);
    for (std::size_t i = 0; i < script.engines.size(); ++i) {
        const Engine& candidate = script.engines[i];
        if (candidate.number == number && accepts(candidate, *engine.graph)) engine.engine = static_cast<int>(i);
    }
    return engine.engine < 0 ? refuse(3000, "no such engine") : CUDNN_STATUS_SUCCESS;
}

template <class T>
cudnnStatus_t answer(const std::vector<T>& values, std::int64_t room, std::int64_t* count, void* target) {
    *count = static_cast<std::int64_t>(values.size());
    for (std::size_t i = 0; i < values.size() && static_cast<std::int64_t>(i) < room; ++i)
        static_cast<T*>(target)[i] = values[i];
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t get_results(const Object& question, std::int64_t room, std::int64_t* count, void* target) {
    const std::vector<int> found = engines_for(question);
    *count = static_cast<std::int64_t>(found.size());
    for (std::size_t i = 0; i < found.size() && static_cast<std::int64_t>(i) < room; ++i) {
        Object& config = *as_object(static_cast<void**>(target)[i]);
        config.engine = found[i];
        config.graph = question.object(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    }
    return CUDNN_STATUS_SUCCESS;
}

// As the real library: without room the answer is that there are none.
cudnnStatus_t get_knobs(const Object& config, std::int64_t room, std::int64_t* count, void* target) {
    // A configuration made of an engine alone has its default settings, which are not told.
    const bool by_hand = !config.get<void*>(CUDNN_ATTR_ENGINECFG_ENGINE).empty();
    const auto knobs = by_hand ? 0 : static_cast<std::int64_t>(script.engines[config.engine].knobs.size());
    *count = std::min(knobs, room);
    for (std::int64_t i = 0; i < *count; ++i) {
        Object& choice = *as_object(static_cast<void**>(target)[i]);
        choice.engine = config.engine;
        choice.knob = static_cast<std::size_t>(i);
    }
    return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

void fake_cudnn_script(const char* text) {
    script = {};
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (name == "version") words >> script.version;
        if (name == "create") words >> script.create;
        if (name == "operation") words >> script.operation;
        if (name == "engine") script.engines.push_back(parse_engine(words));
        if (name == "heuristics") {
            std::string mode;
            words >> mode;
            words >> script.heuristics[mode];
        }
    }
}
int fake_cudnn_live() {
    return live_descriptors + live_handles;
}

size_t cudnnGetVersion() {
    return script.version;
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
    return status == 3000 ? "CUDNN_STATUS_NOT_SUPPORTED" : status == 2000 ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_X";
}
void cudnnGetLastErrorString(char* message, size_t size) {
    std::strncpy(message, last_error.c_str(), size);
    last_error.clear();
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
    const std::lock_guard lock(mutex);
    if (script.create != 0) return refuse(script.create, "no device\nat all");
    ++live_handles;
    *handle = reinterpret_cast<cudnnHandle_t>(std::uintptr_t{0x100});
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) {
    const std::lock_guard lock(mutex);
    --live_handles;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) {
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
    const std::lock_guard lock(mutex);
    ++live_descriptors;
    auto* object = new Object;
    object->type = type;
    *descriptor = object;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
    const std::lock_guard lock(mutex);
    --live_descriptors;
    delete as_object(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t attribute,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
    const std::lock_guard lock(mutex);
    Object& object = *as_object(descriptor);
    if (object.finalized) return refuse(2000, "set after it was finalised");
    const std::size_t size = type == CUDNN_TYPE_BOOLEAN || type == CUDNN_TYPE_CHAR ? 1
                             : type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_VOID_PTR || type == CUDNN_TYPE_HANDLE ||
                                     type == CUDNN_TYPE_BACKEND_DESCRIPTOR
                                 ? 8
                                 : 4;
    const auto* bytes = static_cast<const char*>(values);
    object.values[attribute].assign(bytes, bytes + size * static_cast<std::size_t>(count));
    if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) return CUDNN_STATUS_SUCCESS;
    for (void* part : object.get<void*>(attribute)) {
        if (!as_object(part)->finalized && as_object(part)->engine < 0) return refuse(2004, "part not finalised");
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
    const std::lock_guard lock(mutex);
    Object& object = *as_object(descriptor);
    object.finalized = true;
    switch (object.type) {
        case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
            if (script.operation != 0) return refuse(script.operation, "told to");
            return fake::is_convolution(work_of(object)) ? CUDNN_STATUS_SUCCESS : refuse(2000, "extents do not match");
        case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: {
            const auto mode = object.get<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE).at(0);
            const int status = script.heuristics[mode == CUDNN_HEUR_MODE_A   ? "A"
                                                 : mode == CUDNN_HEUR_MODE_B ? "B"
                                                                             : "F"];
            return status == 0 ? CUDNN_STATUS_SUCCESS : refuse(status, "no heuristics");
        }
        case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
            return finalize_engine(object);
        case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
            object.engine = object.object(CUDNN_ATTR_ENGINECFG_ENGINE)->engine;
            object.graph = object.object(CUDNN_ATTR_ENGINECFG_ENGINE)->graph;
            return CUDNN_STATUS_SUCCESS;
        case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
            const Object& config = *object.object(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
            object.engine = config.engine;
            object.graph = config.graph;
            const int status = script.engines[config.engine].build;
            return status == 0 ? CUDNN_STATUS_SUCCESS : refuse(status, "does not build");
        }
        default:
            return CUDNN_STATUS_SUCCESS;
    }
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t attribute,
                                       cudnnBackendAttributeType_t, int64_t room, int64_t* count, void* target) {
    const std::lock_guard lock(mutex);
    Object& object = *as_object(descriptor);
    switch (attribute) {
        case CUDNN_ATTR_ENGINEHEUR_RESULTS:
            return get_results(object, room, count, target);
        case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
            return get_knobs(object, room, count, target);
        case CUDNN_ATTR_ENGINECFG_ENGINE:
            as_object(static_cast<void**>(target)[0])->engine = object.engine;
            *count = 1;
            return CUDNN_STATUS_SUCCESS;
        case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT: {
            std::int64_t numbers = 0;
            for (const Engine& engine : script.engines)
                numbers = std::max(numbers, engine.number + 1);
            return answer(std::vector<std::int64_t>{numbers}, room, count, target);
        }
        default:
            break;
    }
    const Engine& engine = script.engines.at(static_cast<std::size_t>(object.engine));
    switch (attribute) {
        case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
            return answer(std::vector<std::int64_t>{engine.number}, room, count, target);
        case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
            return answer(std::vector<std::int64_t>{engine.workspace}, room, count, target);
        case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
            return answer(std::vector<std::int32_t>(engine.notes.begin(), engine.notes.end()), room, count, target);
        case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
            return answer(std::vector<std::int32_t>{static_cast<std::int32_t>(engine.knobs[object.knob].first)}, room,
                          count, target);
        case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
            return answer(std::vector<std::int64_t>{engine.knobs[object.knob].second}, room, count, target);
        default:
            return refuse(2000, "unknown attribute");
    }
}

#ifndef FAKE_CUDNN_WITHOUT_EXECUTE
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
    const std::lock_guard lock(mutex);
    const Engine& engine = script.engines.at(static_cast<std::size_t>(as_object(plan)->engine));
    if (engine.run != 0) return refuse(engine.run, "does not run");
    const auto ids = as_object(pack)->get<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto pointers = as_object(pack)->get<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    std::map<std::int64_t, void*> memory;
    for (std::size_t i = 0; i < ids.size(); ++i)
        memory[ids[i]] = pointers[i];
    if (engine.workspace > 0)
        std::memset(as_object(pack)->get<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE).at(0), 0xFF,
                    static_cast<std::size_t>(engine.workspace));
    fake::compute(work_of(*as_object(plan)->graph), memory);
    return CUDNN_STATUS_SUCCESS;
}
#endif

}  // extern "C"
