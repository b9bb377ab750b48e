#pragma once

#include <string>

#include <tconv/core/problem.hpp>

struct Arguments {
    std::string device;
    std::string database;   ///< empty: the default one
    double tolerance = -1;  ///< negative: the default of the data type
    bool strict = false;    ///< plain fp32 arithmetic alone
    tconv::Problem problem;
};

/// Reads --device, --database, --tolerance, --input NxCx..., --weight CxC'x..., --stride, --padding, --output-padding,
/// --dilation, --groups, --bias, --strict and --layout nchw or nhwc; what is not given is that of a small 2-D layer.
/// Throws std::exception.
Arguments parse_arguments(int argc, char** argv);
