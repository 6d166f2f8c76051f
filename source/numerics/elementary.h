// Elementary functions with the same bits on every processor: fixed polynomials in double (+ − × ÷ only, no libm,
// no fma), so a float result is the double result rounded once. Stated error of each: relative (absolute near 0),
// see elementary.cc. Used by every float operator and every 256-entry table.
#pragma once

namespace lq::elementary {

double exp(double x);
double log(double x);            // x < 0 -> NaN, 0 -> -inf
double tanh(double x);
double erf(double x);
double sin(double x);
double cos(double x);
double pow(double x, double y);  // C99 special cases
double log1p_exp(double x);      // softplus: log(1 + exp(x)) without overflow
double sigmoid(double x);

// Activations as the schema's operators define them, in double.
double hard_sigmoid(double x, double alpha, double beta);
double hard_swish(double x);
double silu(double x);
double gelu(double x, bool tanh_approximation);
double elu(double x, double alpha);
double selu(double x, double alpha, double gamma);
double leaky_relu(double x, double alpha);

}  // namespace lq::elementary
