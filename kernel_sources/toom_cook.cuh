// Minimal filtering (Toom and Cook, Winograd): the m outputs y[i] = sum over j of g[j] * d[i + j] of a filter g of T
// taps on m + T - 1 inputs d with as many products, in place of m * T:
//
//     y = A ((G g) * (B d))
//
// Multiplication of polynomials of m and T coefficients by way of their values at m + T - 2 points and at infinity,
// transposed. The denominators are in G, which is applied once to the weights.
#pragma once

#include "tconv.cuh"

namespace tconv::toom_cook {

constexpr int k_most_points = 6;
/// The finite ones, by their number: of those that fp32 holds, with their products, where the least of a tile's
/// rounding errors is left in an output.
constexpr double k_points[k_most_points][k_most_points - 1] = {
    {}, {0}, {0, 1}, {0, 1, -1}, {0, 0.5, -1, 2}, {0, 0.625, -0.625, 1.5, -1.5}};

template <int Outputs, int Taps>
struct Matrices {
    static constexpr int outputs = Outputs;
    static constexpr int taps = Taps;
    static constexpr int products = Outputs + Taps - 1;
    static constexpr int finite = products - 1;
    static_assert(products <= k_most_points, "there are points for six products");
    double a[outputs][products] = {};
    double b[products][products] = {};
    double g[products][taps] = {};
};

/// A product of the polynomials x - point over the first `count` points but `without`: its coefficients, the constant
/// first.
template <int Size>
__device__ constexpr void expand(double (&coefficients)[Size], int count, int without) {
    for (int i = 0; i < Size; ++i)
        coefficients[i] = i == 0 ? 1 : 0;
    for (int p = 0; p < count; ++p) {
        if (p == without) continue;
        for (int i = Size - 1; i >= 0; --i)
            coefficients[i] = (i > 0 ? coefficients[i - 1] : 0) - k_points[count][p] * coefficients[i];
    }
}

template <int Outputs, int Taps>
__device__ constexpr Matrices<Outputs, Taps> matrices() {
    using M = Matrices<Outputs, Taps>;
    M m{};
    // A single output or tap needs no points: each product is one of a tap and an input.
    if (Outputs == 1 || Taps == 1) {
        for (int p = 0; p < M::products; ++p) {
            m.a[Outputs == 1 ? 0 : p][p] = 1;
            m.b[p][p] = 1;
            m.g[p][Taps == 1 ? 0 : p] = 1;
        }
        return m;
    }
    for (int p = 0; p < M::finite; ++p) {
        expand(m.b[p], M::finite, p);
        double denominator = 1;
        for (int q = 0; q < M::finite; ++q)
            denominator *= q == p ? 1 : k_points[M::finite][p] - k_points[M::finite][q];
        double power = 1;
        for (int i = 0; i < M::products; ++i) {
            if (i < Outputs) m.a[i][p] = power;
            if (i < Taps) m.g[p][i] = power / denominator;
            power *= k_points[M::finite][p];
        }
    }
    expand(m.b[M::finite], M::finite, -1);
    m.a[Outputs - 1][M::finite] = 1;
    m.g[M::finite][Taps - 1] = 1;
    return m;
}

/// The three matrices, each with its extents and at(row, column), for constants.
template <int Outputs, int Taps>
struct Filter {
    static constexpr Matrices<Outputs, Taps> all = matrices<Outputs, Taps>();
    struct OfOutputs {
        static constexpr int rows = Outputs;
        static constexpr int columns = Outputs + Taps - 1;
        __device__ static constexpr double at(int row, int column) { return all.a[row][column]; }
    };
    struct OfInputs {
        static constexpr int rows = Outputs + Taps - 1;
        static constexpr int columns = rows;
        __device__ static constexpr double at(int row, int column) { return all.b[row][column]; }
    };
    /// Taps in the order of the kernel: tap j reads the input j places before the output's own.
    struct OfTaps {
        static constexpr int rows = Outputs + Taps - 1;
        static constexpr int columns = Taps;
        __device__ static constexpr double at(int row, int column) { return all.g[row][Taps - 1 - column]; }
    };
};

template <int I>
struct Number {
    static constexpr int value = I;
};
/// body(Number<0>), ..., body(Number<N - 1>).
template <int N, int I = 0, class Body>
__device__ __forceinline__ void for_each_number(const Body& body) {
    if constexpr (I < N) {
        body(Number<I>{});
        for_each_number<N, I + 1>(body);
    }
}

/// sum + factor * value in as few instructions as the factor needs; `Empty`: there is no sum yet.
template <bool Empty>
__device__ __forceinline__ float add_product(float sum, float factor, float value) {
    if constexpr (Empty) return factor == 1 ? value : factor == -1 ? -value : factor * value;
    return factor == 1 ? sum + value : factor == -1 ? sum - value : fmaf(factor, value, sum);
}

/// Of every `Every`-th column from `From` on the one that the sum of row R begins with: the last, or one whose factor
/// is 1 and no instruction; -1 where all are 0.
template <class Matrix, int R, int From, int Every>
__device__ constexpr int first_summand() {
    int first = -1;
    for (int c = From; c < Matrix::columns; c += Every) {
        if (Matrix::at(R, c) != 0 && (first < 0 || Matrix::at(R, first) != 1)) first = c;
    }
    return first;
}

/// Row R of a matrix over `Scale` times a line of values that lie `Step` apart, of every `Every`-th column from `From`
/// on.
template <class Matrix, int R, int Step, int From = 0, int Every = 1, bool Scaled = false>
__device__ __forceinline__ float row_times(const float* line) {
    constexpr int first = first_summand<Matrix, R, From, Every>();
    if constexpr (first < 0) return 0;
    constexpr double scale = Scaled ? Matrix::at(R, first) : 1;
    float sum = add_product<true>(0, static_cast<float>(Matrix::at(R, first) / scale), line[first * Step]);
    for_each_number<Matrix::columns>([&](auto column) {
        constexpr int c = decltype(column)::value;
        constexpr float factor = static_cast<float>(Matrix::at(R, c) / scale);
        if constexpr (factor != 0 && c != first && c >= From && (c - From) % Every == 0)
            sum = add_product<false>(sum, factor, line[c * Step]);
    });
    return sum;
}

/// True where rows R and R + 1 differ by the signs of their odd columns alone, as inputs' do at points x and -x.
template <class Matrix, int R>
__device__ constexpr bool rows_are_pair() {
    if (R < 0 || R + 1 >= Matrix::rows || first_summand<Matrix, (R < 0 ? 0 : R), 1, 2>() < 0) return false;
    for (int c = 0; c < Matrix::columns; ++c) {
        if (Matrix::at(R + 1, c) != (c % 2 == 0 ? Matrix::at(R, c) : -Matrix::at(R, c))) return false;
    }
    return true;
}

/// A matrix times one line; rows that are a pair share their even and odd columns' sums.
template <class Matrix, int Step>
__device__ __forceinline__ void times(const float* line, float* to) {
    for_each_number<Matrix::rows>([&](auto row) {
        constexpr int r = decltype(row)::value;
        if constexpr (rows_are_pair<Matrix, r>()) {
            constexpr float factor = static_cast<float>(Matrix::at(r, first_summand<Matrix, r, 1, 2>()));
            const float even = row_times<Matrix, r, Step, 0, 2>(line);
            const float odd = row_times<Matrix, r, Step, 1, 2, true>(line);
            to[r * Step] = add_product<false>(even, factor, odd);
            to[(r + 1) * Step] = add_product<false>(even, -factor, odd);
        } else if constexpr (!rows_are_pair<Matrix, r - 1>()) {
            to[r * Step] = row_times<Matrix, r, Step>(line);
        }
    });
}

/// Applies a matrix along the middle axis: [Outer][columns][Inner] to [Outer][rows][Inner].
template <class Matrix, int Outer, int Inner>
__device__ __forceinline__ void apply(const float (&from)[Outer * Matrix::columns * Inner],
                                      float (&to)[Outer * Matrix::rows * Inner]) {
#pragma unroll
    for (int outer = 0; outer < Outer; ++outer) {
#pragma unroll
        for (int inner = 0; inner < Inner; ++inner)
            times<Matrix, Inner>(from + outer * Matrix::columns * Inner + inner,
                                 to + outer * Matrix::rows * Inner + inner);
    }
}

/// Applies a matrix along each of three axes, [depth][height][width], the innermost first.
template <class D, class H, class W>
__device__ __forceinline__ void apply_to_axes(const float (&from)[D::columns * H::columns * W::columns],
                                              float (&to)[D::rows * H::rows * W::rows]) {
    float by_w[D::columns * H::columns * W::rows];
    apply<W, D::columns * H::columns, 1>(from, by_w);
    float by_h[D::columns * H::rows * W::rows];
    apply<H, D::columns, W::rows>(by_w, by_h);
    apply<D, 1, H::rows * W::rows>(by_h, to);
}

}  // namespace tconv::toom_cook
