// Piece by piece or at once: the same values, also after a constant was changed on the way.
#include "quantization/staged_run.h"

#include "quantization/quantizer_fixture.h"

namespace lq::quantization {
namespace {

using Outputs = std::vector<std::vector<float>>;  // by sample; empty: not visited

class StagedRunTest : public test::QuantizerFixture {
 protected:
  static constexpr size_t kSamples = 12;

  void SetUp() override {
    QuantizerFixture::SetUp();
    write_samples(kSamples, {1, 3, 8, 8});
    test::small_net(net_);
    quantized(net_, options());
    const Graph& graph = net_.model.main();
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].op == Op::Conv) stops_.push_back(int(n));
    }
    ASSERT_EQ(stops_.size(), 3u);
    auto source = calibration::DataSource::open(folder_.string(), calibration::input_specs(net_.model, {}));
    ASSERT_TRUE(source.ok()) << source.status().message();
    source_.emplace(std::move(*source));
  }

  static void keep(const Session& session, std::vector<float>& values) {
    size_t count = 0;
    const float* data = float_output(session, 0, count);
    values.assign(data, data + count);
  }

  /// The whole model up to a stop, run from its inputs.
  Outputs at_once(size_t stop) const {
    const Graph& graph = net_.model.main();
    const std::string name = graph.tensor(graph.nodes[size_t(stops_[stop])].outputs[0]).name;
    std::vector<size_t> places;
    auto part = only_outputs(net_.model, {name}, places);
    Outputs outputs(kSamples);
    EXPECT_TRUE(part.ok() &&
                run_samples(std::move(*part), *source_, {}, nullptr, [&](size_t sample, int, const Session& session) {
                  keep(session, outputs[sample]);
                }).ok());
    return outputs;
  }

  /// Moves every bias of a stop's convolution by 1000 steps.
  void change_bias(size_t stop) {
    Graph& graph = net_.model.main();
    const TensorId dequantized = graph.nodes[size_t(stops_[stop])].inputs[2];
    Tensor& bias = graph.tensor(graph.nodes[size_t(producers_of(graph)[size_t(dequantized)])].inputs[0]);
    ASSERT_EQ(bias.dtype, DType::Int32);
    std::vector<int32_t> values(bias.data.as<int32_t>(), bias.data.as<int32_t>() + bias.data.size() / 4);
    for (int32_t& v : values) v += 1000;
    auto bytes = Bytes::copy_of(values.data(), values.size() * 4);
    ASSERT_TRUE(bytes.ok());
    bias.data = std::move(*bytes);
  }

  /// All stops, the first one's bias changed once it was visited.
  std::vector<Outputs> in_pieces(int threads, size_t most_bytes, const std::vector<uint8_t>& wanted) {
    MeasureOptions measure;
    measure.run.threads = threads;
    StagedRun run(net_.model, stops_, measure, most_bytes);
    EXPECT_TRUE(run.load(*source_, wanted).ok());
    std::vector<Outputs> all;
    for (size_t stop = 0; stop < stops_.size(); ++stop) {
      all.emplace_back(kSamples);
      const Status status =
          run.advance([&](size_t sample, const Session& session) { keep(session, all.back()[sample]); });
      EXPECT_TRUE(status.ok()) << status.message();
      if (stop == 0) change_bias(0);
    }
    return all;
  }

  test::GraphMaker net_;
  std::vector<int> stops_;
  std::optional<calibration::DataSource> source_;
};

TEST_F(StagedRunTest, GivesWhatTheWholeModelGives) {
  const Outputs first = at_once(0);
  const std::vector<uint8_t> all(kSamples, 1);
  const std::vector<Outputs> pieces = in_pieces(1, size_t(1) << 30, all);  // leaves the changed bias behind
  EXPECT_EQ(pieces[0], first);
  EXPECT_NE(at_once(0), first) << "the change changes nothing";
  EXPECT_EQ(pieces[1], at_once(1));
  EXPECT_EQ(pieces[2], at_once(2));
}

TEST_F(StagedRunTest, ThreadsChangeNothing) {
  const std::vector<uint8_t> all(kSamples, 1);
  const Outputs last = at_once(2);
  MeasureOptions measure;
  measure.run.threads = 3;
  StagedRun run(net_.model, stops_, measure, size_t(1) << 30);
  ASSERT_TRUE(run.load(*source_, all).ok());
  Outputs three(kSamples);
  for (size_t stop = 0; stop < stops_.size(); ++stop)
    ASSERT_TRUE(run.advance([&](size_t sample, const Session& session) { keep(session, three[sample]); }).ok());
  EXPECT_EQ(three, last);
}

TEST_F(StagedRunTest, RunsWhatIsWantedAndFits) {
  std::vector<uint8_t> wanted(kSamples, 1);
  wanted[2] = 0;
  // One sample is 3 · 64 floats: the bound holds one, the least number of samples is eight.
  const std::vector<Outputs> pieces = in_pieces(2, 1000, wanted);
  for (const Outputs& outputs : pieces) {
    for (size_t sample = 0; sample < kSamples; ++sample)
      EXPECT_EQ(!outputs[sample].empty(), sample != 2 && sample < 1 + StagedRun::kFewestSamples) << sample;
  }
}

}  // namespace
}  // namespace lq::quantization
