// The exported QDQ model means in ONNX Runtime what the model means here: node by node from identical integers, and as
// a whole.
//
// ONNX Runtime has two answers to a QDQ model: literally, as ONNX defines it (DequantizeLinear, a float operator,
// QuantizeLinear), or in integer kernels, its default for the uint8 activations we write. Both are asked; they differ
// from each other, as from us, by a rounding in a million.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>

#include "conformance/quantized_case.h"
#include "onnx/exporter.h"
#include "peer/onnx_runtime.h"
#include "runtime/session.h"

namespace lq::peer {
namespace {

using conformance::ModelCase;
constexpr size_t kCalibrationSamples = 64, kNodeSamples = 3;
constexpr double kLeastEqual = 0.999, kLeastSqnr = 35, kLeastAgreement = 0.995, kLeastFloatSqnr = 100;
constexpr double kSqnrMargin = 1,
                 kAgreementMargin = 0.01;  // of "as near as they are to each other": it is one noise against another

struct PeerCase {
  std::string model;     // name of its ModelCase
  std::string labelled;  // folder of images to classify; "": node by node only
  size_t images = 0;     // at most so many, evenly spaced; 0: all
};
inline void PrintTo(const PeerCase& c, std::ostream* out) { *out << c.model; }

std::vector<PeerCase> peer_cases() {
  const std::string cifar = "pack/images/cifar10";
  return {{"example_mnist", "example/mnist/test"},
          {"example_resnet8", ""},
          {"example_vww", ""},
          {"resnet20", cifar},
          {"mbv2s", cifar},
          {"resnet8", cifar},
          {"mobilenet_v2", "pack/images/imagenet", 200}};
}

ModelCase case_named(const std::string& name) {
  for (const ModelCase& c : conformance::model_cases()) {
    if (c.name == name) return c;
  }
  ADD_FAILURE() << "no model case '" << name << "'";
  return {};
}

Stream empty_stream(const Tensor& t) { return {t.name, t.dtype, t.shape, ""}; }

/// The model run here on every sample: the stream of its input and of each output.
struct Run {
  size_t samples = 0;
  Stream input;
  std::vector<Stream> outputs;
};

Result<Run> run_here(const ModelCase& c, const ModelIr& ir, const std::string& folder, size_t at_most) {
  LQ_ASSIGN_OR_RETURN(const calibration::DataSource source, conformance::open_samples(c, ir, folder, at_most));
  LQ_ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, Model::create(ir));
  SessionOptions options;
  options.threads = 2;
  LQ_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::create(model, options));
  Run run{source.size(), empty_stream(session->input(0)), {}};
  for (size_t i = 0; i < session->output_count(); ++i) run.outputs.push_back(empty_stream(session->output(i)));
  for (size_t s = 0; s < source.size(); ++s) {
    LQ_ASSIGN_OR_RETURN(const calibration::Sample sample, source.load(s));
    const std::vector<uint8_t>& data = sample.inputs[0].data;
    std::memcpy(session->input_data(0), data.data(), data.size());
    run.input.data.append(data.begin(), data.end());
    LQ_RETURN_IF_ERROR(session->run());
    for (size_t i = 0; i < run.outputs.size(); ++i) {
      const Stream& o = run.outputs[i];
      const size_t bytes = size_t(element_count(o.shape)) * dtype_size(o.dtype);
      run.outputs[i].data.append(static_cast<const char*>(session->output_data(i)), bytes);
    }
  }
  return run;
}

/// A copy in which every quantized activation is a graph output too. That changes nothing of its meaning: the output
/// condition of docs/NUMERICS.md speaks of what QuantizeLinear reads, not of what it writes.
ModelIr with_taps(ModelIr ir) {
  Graph& g = ir.main();
  for (const Node& node : g.nodes) {
    if (node.op == Op::QuantizeLinear && !is_graph_output(g, node.outputs[0])) g.outputs.push_back(node.outputs[0]);
  }
  return ir;
}

const std::string kAgain = "/again";

/// int8 bytes as uint8 ones of zero point + 128, and back.
std::string plus_128(std::string bytes) {
  for (char& c : bytes) c = char(c ^ 0x80);
  return bytes;
}

/// Cuts an exported model at every quantized activation: the tensor becomes an input, and what computed it an output
/// named
/// + kAgain. So one run computes each of them from integers that are given, not from results of its own.
Result<std::string> cut(const std::string& exported, const std::vector<Stream>& quantized) {
  onnx::ModelProto model;
  if (!model.ParseFromString(exported)) return internal_error("the exported model is no protobuf");
  onnx::GraphProto& g = *model.mutable_graph();
  for (const Stream& q : quantized) {
    const auto writes = [&](const onnx::NodeProto& n) {
      return n.op_type() == "QuantizeLinear" && n.output(0) == q.name;
    };
    const auto node = std::find_if(g.mutable_node()->begin(), g.mutable_node()->end(), writes);
    if (node == g.mutable_node()->end())
      return internal_error("no QuantizeLinear writes '" + q.name + "' in the exported model");
    node->set_output(0, q.name + kAgain);
    for (onnx::ValueInfoProto* info : {g.add_input(), g.add_output()}) {
      auto* type = info->mutable_type()->mutable_tensor_type();
      type->set_elem_type(onnx::TensorProto::UINT8);
      for (int64_t dim : q.shape) type->mutable_shape()->add_dim()->set_dim_value(dim);
    }
    g.mutable_input(g.input_size() - 1)->set_name(q.name);
    g.mutable_output(g.output_size() - 1)->set_name(q.name + kAgain);
  }
  return model.SerializeAsString();
}

/// As exported: activations are uint8 there.
void to_uint8(std::vector<Stream>& streams) {
  for (Stream& s : streams) {
    if (s.dtype == DType::Int8) s.dtype = DType::UInt8, s.data = plus_128(s.data);
  }
}

struct Difference {
  size_t count = 0, unequal = 0;
  int largest = 0;
};

/// Of tensors that are both int8 or both uint8.
Difference difference(const Stream& a, const Stream& b) {
  Difference d;
  d.count = a.data.size();
  const auto value = [](const Stream& s, size_t i) {
    return s.dtype == DType::Int8 ? int(int8_t(s.data[i])) : int(uint8_t(s.data[i]));
  };
  for (size_t i = 0; i < d.count; ++i) {
    const int distance = std::abs(value(a, i) - value(b, i));
    d.unequal += distance > 0;
    d.largest = std::max(d.largest, distance);
  }
  return d;
}

const float* floats(const Stream& s) { return reinterpret_cast<const float*>(s.data.data()); }

/// 10·log10(Σ expected² / Σ (actual − expected)²); 200 when they are equal.
double sqnr_db(const Stream& expected, const Stream& actual) {
  double power = 0, error = 0;
  for (size_t i = 0; i < expected.data.size() / sizeof(float); ++i) {
    const double e = floats(expected)[i], a = floats(actual)[i];
    power += e * e;
    error += (a - e) * (a - e);
  }
  return error == 0 ? 200 : 10 * std::log10(power / error);
}

/// Share of the samples with the same largest value.
double agreement_of(const Stream& a, const Stream& b, size_t samples) {
  const long classes = long(element_count(a.shape));
  size_t same = 0;
  for (long s = 0; s < long(samples); ++s) {
    const auto top = [&](const Stream& o) {
      const float* first = floats(o) + s * classes;
      return std::max_element(first, first + classes) - first;
    };
    same += top(a) == top(b);
  }
  return double(same) / double(samples);
}

class Peer : public ::testing::TestWithParam<PeerCase> {
 protected:
  void SetUp() override {
    static const std::string why = why_absent();
    if (!why.empty()) GTEST_SKIP() << why << ": comparison with ONNX Runtime skipped";
    if (!conformance::is_present(case_)) GTEST_SKIP() << case_.model << " is absent: 1 model skipped";
    auto quantized = conformance::quantize_case(case_, scratch_, kCalibrationSamples);
    ASSERT_TRUE(quantized.ok()) << quantized.status().message();
    quantized_ = std::move(*quantized);
    auto exported = export_onnx_bytes(quantized_.ir);
    ASSERT_TRUE(exported.ok()) << exported.status().message();
    exported_ = std::move(*exported);
  }

  /// At most 1 apart, kLeastEqual of them equal.
  void compare_nodes(const std::vector<Stream>& expected, const std::vector<Stream>& actual, const char* how);

  const ModelCase case_ = case_named(GetParam().model);
  const conformance::ScratchFolder scratch_{"peer_" + GetParam().model};
  conformance::QuantizedCase quantized_;
  std::string exported_;
};

void Peer::compare_nodes(const std::vector<Stream>& expected, const std::vector<Stream>& actual, const char* how) {
  Difference all;
  for (size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(expected[i].name);
    if (expected[i].dtype == DType::Float32) {
      EXPECT_GE(sqnr_db(expected[i], actual[i]), kLeastFloatSqnr) << "a float output of the same integers";
      continue;
    }
    const Difference d = difference(expected[i], actual[i]);
    EXPECT_LE(d.largest, 1);
    // A tensor of a few values may have one that lies on a rounding boundary.
    EXPECT_LE(double(d.unequal), std::max(1.0, (1 - kLeastEqual) * double(d.count))) << d.count << " values";
    all.count += d.count, all.unequal += d.unequal, all.largest = std::max(all.largest, d.largest);
  }
  std::printf("  %-16s %s: %zu tensors, %zu values, %zu differ, by %d at most\n", case_.name.c_str(), how,
              expected.size(), all.count, all.unequal, all.largest);
  EXPECT_GT(all.count, 0u);
  EXPECT_LE(double(all.unequal), (1 - kLeastEqual) * double(all.count));
}

TEST_P(Peer, NodesGiveTheSameIntegersFromTheSameIntegers) {
  const auto here = run_here(case_, with_taps(quantized_.ir), quantized_.calibration_folder, kNodeSamples);
  ASSERT_TRUE(here.ok()) << here.status().message();
  std::vector<Stream> quantized;
  std::copy_if(here->outputs.begin(), here->outputs.end(), std::back_inserter(quantized),
               [](const Stream& s) { return s.dtype == DType::Int8; });
  ASSERT_GT(quantized.size(), 3u);
  const auto model = cut(exported_, quantized);
  ASSERT_TRUE(model.ok()) << model.status().message();
  for (const bool literal : {false, true}) {
    std::vector<Stream> inputs = {here->input}, expected = here->outputs, outputs;
    inputs.insert(inputs.end(), quantized.begin(), quantized.end());
    to_uint8(inputs), to_uint8(expected);
    for (const Stream& e : expected)
      outputs.push_back({e.dtype == DType::Float32 ? e.name : e.name + kAgain, e.dtype, e.shape, ""});
    const Status ran = run_onnx_runtime(*model, inputs, here->samples, scratch_ / "nodes", outputs, literal);
    ASSERT_TRUE(ran.ok()) << ran.message();
    compare_nodes(expected, outputs, literal ? "literally" : "in integers");
  }
}

/// Roundings that differ once in a million values still end in different outputs, because each flips others behind it:
/// in a deep net whose own quantization noise is large, two right implementations part as far as that noise goes. Where
/// ONNX Runtime's two ways of running the model are under kLeastSqnr apart themselves, we must be as near to each of
/// them as they are to each other.
TEST_P(Peer, WholeNetsAgree) {
  if (GetParam().labelled.empty()) GTEST_SKIP() << "no images for " << case_.name;
  const auto here =
      run_here(case_, quantized_.ir, conformance::resolve(GetParam().labelled).string(), GetParam().images);
  ASSERT_TRUE(here.ok()) << here.status().message();
  ASSERT_GE(here->samples, 200u);
  const Stream& ours = here->outputs[0];
  const auto ask = [&](bool literal) {
    std::vector<Stream> outputs = {{ours.name, ours.dtype, ours.shape, ""}};
    const Status ran = run_onnx_runtime(exported_, {here->input}, here->samples, scratch_ / "net", outputs, literal);
    EXPECT_TRUE(ran.ok()) << ran.message();
    return outputs[0];
  };
  const Stream theirs = ask(false);
  ASSERT_EQ(theirs.data.size(), ours.data.size());
  const double sqnr = sqnr_db(theirs, ours), agreement = agreement_of(theirs, ours, here->samples);
  std::printf("  %-16s whole net: SQNR %.1f dB, same top-1 on %.4f of %zu images\n", case_.name.c_str(), sqnr,
              agreement, here->samples);
  if (sqnr >= kLeastSqnr && agreement >= kLeastAgreement) return;
  const Stream literal = ask(true);
  ASSERT_EQ(literal.data.size(), ours.data.size());
  const double own_sqnr = sqnr_db(literal, theirs), own_agreement = agreement_of(literal, theirs, here->samples);
  const double literal_sqnr = sqnr_db(literal, ours), literal_agreement = agreement_of(literal, ours, here->samples);
  std::printf(
      "    ONNX Runtime's two ways are %.1f dB apart, same top-1 on %.4f; we and the literal one %.1f dB, %.4f\n",
      own_sqnr, own_agreement, literal_sqnr, literal_agreement);
  EXPECT_GE(std::max(sqnr, literal_sqnr), std::min(kLeastSqnr, own_sqnr - kSqnrMargin));
  EXPECT_GE(std::max(agreement, literal_agreement), std::min(kLeastAgreement, own_agreement - kAgreementMargin));
}

INSTANTIATE_TEST_SUITE_P(Models, Peer, ::testing::ValuesIn(peer_cases()),
                         [](const auto& test) { return test.param.model; });

}  // namespace
}  // namespace lq::peer
