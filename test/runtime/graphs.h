// Hand-made models for the runtime's tests, and short ways to run them.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "passes/runtime_graphs.h"
#include "runtime/session.h"

namespace lq::testing {

inline std::shared_ptr<Model> make_model(ModelIr ir) {
  auto model = Model::create(std::move(ir));
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? *model : nullptr;
}

inline std::unique_ptr<Session> make_session(std::shared_ptr<const Model> model, const SessionOptions& options = {}) {
  auto session = Session::create(std::move(model), options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return session.ok() ? std::move(*session) : nullptr;
}

template <typename T>
void set_input(Session& session, size_t i, const std::vector<T>& values) {
  ASSERT_EQ(size_t(element_count(session.input(i).shape)), values.size());
  std::memcpy(session.input_data(i), values.data(), values.size() * sizeof(T));
}

template <typename T>
std::vector<T> get_output(const Session& session, size_t i) {
  const T* data = static_cast<const T*>(session.output_data(i));
  return std::vector<T>(data, data + element_count(session.output(i).shape));
}

/// A branch or main graph made by `f` in a builder of its own.
template <typename F>
Graph make_graph(F&& f) {
  GraphBuilder g;
  f(g);
  return std::move(g.model.graphs[0]);
}

}  // namespace lq::testing
