#include "device/driver/recording.hpp"

#include <cuda.h>

#include "device/driver/driver_library.hpp"

namespace tconv::cuda {
namespace {

struct CaptureCalls {
    template <class Function>
    using Pointer = Function*;

#define TCONV_DRIVER_CALL(member, type, name) Pointer<decltype(type)> member = driver_function<decltype(type)>(name)
    TCONV_DRIVER_CALL(stream_create, cuStreamCreate, "cuStreamCreate");
    TCONV_DRIVER_CALL(stream_destroy, cuStreamDestroy, "cuStreamDestroy_v2");
    TCONV_DRIVER_CALL(begin, cuStreamBeginCapture, "cuStreamBeginCapture_v2");
    TCONV_DRIVER_CALL(end, cuStreamEndCapture, "cuStreamEndCapture");
    TCONV_DRIVER_CALL(instantiate, cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
    TCONV_DRIVER_CALL(launch, cuGraphLaunch, "cuGraphLaunch");
    TCONV_DRIVER_CALL(destroy_graph, cuGraphDestroy, "cuGraphDestroy");
    TCONV_DRIVER_CALL(destroy_instance, cuGraphExecDestroy, "cuGraphExecDestroy");
#undef TCONV_DRIVER_CALL
};

const CaptureCalls& capture_calls() {
    static const CaptureCalls table;
    return table;
}

/// A stream of its own: the default one cannot be captured.
class Stream {
public:
    Stream() { check(capture_calls().stream_create(&handle_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { capture_calls().stream_destroy(handle_); }
    [[nodiscard]] CUstream handle() const { return handle_; }

private:
    CUstream handle_ = nullptr;
};

class Graph {
public:
    explicit Graph(CUgraph handle) : handle_(handle) {}
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph() {
        if (handle_ != nullptr) capture_calls().destroy_graph(handle_);
    }
    [[nodiscard]] CUgraph handle() const { return handle_; }

private:
    CUgraph handle_;
};

class GraphRecording final : public Recording {
public:
    explicit GraphRecording(CUgraphExec instance) : instance_(instance) {}
    ~GraphRecording() override { capture_calls().destroy_instance(instance_); }
    void replay() override { check(capture_calls().launch(instance_, nullptr), "cuGraphLaunch"); }

private:
    CUgraphExec instance_;
};

CUgraph capture(const std::function<void(StreamHandle)>& work) {
    const Stream stream;
    check(capture_calls().begin(stream.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
    CUgraph graph = nullptr;
    try {
        work(stream.handle());
    } catch (...) {
        // The capture is ended in any case, so that the thread can go on.
        if (capture_calls().end(stream.handle(), &graph) == CUDA_SUCCESS && graph != nullptr)
            capture_calls().destroy_graph(graph);
        throw;
    }
    check(capture_calls().end(stream.handle(), &graph), "cuStreamEndCapture");
    return graph;
}

}  // namespace

std::unique_ptr<Recording> record_graph(const std::function<void(StreamHandle)>& work) {
    const Graph graph(capture(work));
    CUgraphExec instance = nullptr;
    check(capture_calls().instantiate(&instance, graph.handle(), 0), "cuGraphInstantiateWithFlags");
    return std::make_unique<GraphRecording>(instance);
}

}  // namespace tconv::cuda
