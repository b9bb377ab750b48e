#include "tools/layer_choice.hpp"

#include <CLI/CLI.hpp>

#include "core/error.hpp"

namespace tconv {

void add_layer_options(CLI::App& command, LayerChoice& choice) {
    add_shape_options(command, choice.problem);
    command.add_option("--layers", choice.layers, "Work on the layers of a YAML file instead of one problem")
        ->type_name("FILE")
        ->group("Problem");
    command.add_option("--only", choice.only, "Only these layers or groups of the file")
        ->type_name("NAME,NAME")
        ->group("Problem");
}

std::vector<Layer> chosen_layers(const LayerChoice& choice) {
    if (choice.layers) {
        if (describes_shape(choice.problem))
            reject("--layers takes the problems from a file: it cannot go with --input and the other shape flags");
        const std::vector<Layer> layers =
            read_layers(*choice.layers, parse_data_type(choice.problem.dtype), parse_layout(choice.problem.layout));
        return choice.only ? pick_layers(layers, *choice.only) : layers;
    }
    if (choice.only) reject("--only picks layers of a file: it needs --layers");
    if (!describes_shape(choice.problem))
        reject("no problem given: it must come from --input and --weight, or from --layers (see --help)");
    Layer layer;
    layer.problem = parse_problem(choice.problem);
    return {layer};
}

}  // namespace tconv
