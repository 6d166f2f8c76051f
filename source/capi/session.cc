// Sessions: options, planning, running, profile.
#include <cstddef>
#include <cstring>
#include <new>

#include "capi/handles.h"

using namespace lq::capi;

namespace {

/// Adds to `to`; entries are not versioned, arrays of them are.
lq_status take_shapes(const lq_input_shape* shapes, int32_t count, const char* function,
                      std::map<std::string, lq::Shape>& to) {
  if (count < 0 || (shapes == nullptr && count > 0))
    return fail(LQ_INVALID_ARGUMENT, std::string(function) + ": no input shapes, or a negative number of them");
  for (int32_t i = 0; i < count; ++i) {
    const lq_input_shape& s = shapes[i];
    if (s.name == nullptr || s.rank < 0 || s.rank > LQ_MAX_RANK || (s.shape == nullptr && s.rank != 0))
      return fail(LQ_INVALID_ARGUMENT, std::string(function) + ": an input shape has no name, no shape or a bad rank");
    to[s.name] = s.rank == 0 ? lq::Shape() : lq::Shape(s.shape, s.shape + s.rank);
  }
  return LQ_OK;
}

lq_status take_options(const lq_session_options* options, const char* function, lq_session_options& o,
                       lq::SessionOptions& to) {
  if (options == nullptr) return LQ_OK;
  if (const lq_status status = take(*options, function, "lq_session_options", o, offsetof(lq_session_options, memory)))
    return status;
  if (o.threads < 0) return fail(LQ_INVALID_ARGUMENT, std::string(function) + ": threads must not be negative");
  if (o.threads > 0) to.threads = o.threads;
  if (o.isa != nullptr) {
    lq::Result<lq::Isa> isa = lq::parse_isa(o.isa);
    if (!isa.ok()) return report(isa.status());
    to.isa = *isa;
  }
  if (const lq_status status = take_shapes(o.input_shapes, o.input_shape_count, function, to.input_shapes))
    return status;
  if (o.core_count < 0 || (o.cores == nullptr && o.core_count > 0))
    return fail(LQ_INVALID_ARGUMENT, std::string(function) + ": no cores, or a negative number of them");
  if (o.core_count > 0) to.cores.assign(o.cores, o.cores + o.core_count);
  to.pin = o.pin_threads != 0;
  int memory = 0;  // any int may stand in an enum's place; only an enumerator may be read as one
  static_assert(sizeof o.memory == sizeof memory);
  std::memcpy(&memory, &o.memory, sizeof memory);
  if (memory < LQ_MEMORY_DEFAULT || memory > LQ_MEMORY_SMALL)
    return fail(LQ_INVALID_ARGUMENT, std::string(function) + ": unknown memory use");
  static_assert(int(lq::MemoryUse::kSmall) == LQ_MEMORY_SMALL);
  to.memory = lq::MemoryUse(memory);
  to.parallel_for = {o.parallel_for, o.parallel_for_context};
  return take_allocator(o.allocator, function, to.allocator);
}

void log_plan(const lq_session& s) {
  if (s.log == nullptr) return;
  const lq::Session& session = *s.session;
  for (const lq::Step& step : session.steps()) {
    const std::string line = std::string(lq::op_name(step.op)) + " '" + step.node_name + "': " + step.kernel;
    s.log(s.log_context, LQ_LOG_DEBUG, line.c_str());
  }
  const std::string line = "session planned: isa " + std::string(lq::isa_name(session.isa())) + ", " +
                           std::to_string(session.steps().size()) + " operators, arena " +
                           std::to_string(session.arena_bytes()) + " bytes, " +
                           std::to_string(int(session.int8_mac_share() * 100)) + " % of multiply-adds in int8";
  s.log(s.log_context, LQ_LOG_INFO, line.c_str());
}

}  // namespace

lq_status lq_session_measure(const lq_model* model, const lq_session_options* options, lq_memory* memory) {
  constexpr const char* kName = "lq_session_measure";
  if (model == nullptr || memory == nullptr) return fail(LQ_INVALID_ARGUMENT, "lq_session_measure: NULL argument");
  lq_session_options o{};
  lq::SessionOptions taken;
  if (const lq_status status = take_options(options, kName, o, taken)) return status;
  const lq::Result<lq::MemoryNeed> need = lq::Session::measure(*model->model, taken);
  if (!need.ok()) return report(need.status());
  const lq_memory filled{0, need->arena, need->io, need->packed};
  return give(filled, kName, "lq_memory", memory);
}

lq_status lq_session_create(const lq_model* model, const lq_session_options* options, lq_session** session) {
  if (session != nullptr) *session = nullptr;
  if (model == nullptr || session == nullptr) return fail(LQ_INVALID_ARGUMENT, "lq_session_create: NULL argument");
  lq_session_options o{};
  lq::SessionOptions taken;
  if (const lq_status status = take_options(options, "lq_session_create", o, taken)) return status;
  lq::Result<std::unique_ptr<lq::Session>> created = lq::Session::create(model->model, taken);
  if (!created.ok()) return report(created.status());
  *session =
      new (std::nothrow) lq_session{model->model, std::move(*created), taken.allocator, o.log, o.log_context, {}};
  if (*session == nullptr) return fail(LQ_OUT_OF_MEMORY, "cannot allocate a session handle");
  log_plan(**session);
  return LQ_OK;
}

void lq_session_free(lq_session* session) { delete session; }

lq_status lq_session_resize_inputs(lq_session* session, const lq_input_shape* shapes, int32_t count) {
  if (session == nullptr) return fail(LQ_INVALID_ARGUMENT, "lq_session_resize_inputs: NULL session");
  std::map<std::string, lq::Shape> taken;
  if (const lq_status status = take_shapes(shapes, count, "lq_session_resize_inputs", taken)) return status;
  const lq_status status = report(session->session->resize(taken));
  if (status != LQ_OK) return status;
  session->times.clear();
  log_plan(*session);
  return LQ_OK;
}

lq_status lq_session_resize(lq_session* session, const char* input, const int64_t* shape, int32_t rank) {
  const lq_input_shape one{input, shape, rank};
  return lq_session_resize_inputs(session, &one, 1);
}

size_t lq_session_arena_bytes(const lq_session* session) { return session ? session->session->arena_bytes() : 0; }
const char* lq_session_isa(const lq_session* session) { return session ? lq::isa_name(session->session->isa()) : ""; }

lq_status lq_session_run(lq_session* session) {
  if (session == nullptr) return fail(LQ_INVALID_ARGUMENT, "lq_session_run: NULL session");
  return report(session->session->run());
}

void lq_session_cancel(lq_session* session) {
  if (session != nullptr) session->session->cancel();
}

lq_status lq_session_run_profiled(lq_session* session) {
  if (session == nullptr) return fail(LQ_INVALID_ARGUMENT, "lq_session_run_profiled: NULL session");
  return report(session->session->run_profiled(session->times));
}

int32_t lq_session_profile_count(const lq_session* session) {
  return session ? int32_t(session->session->steps().size()) : 0;
}

lq_status lq_session_profile(const lq_session* session, int32_t index, lq_profile_entry* entry) {
  if (session == nullptr || entry == nullptr || !in_range(index, session->session->steps().size()))
    return fail(LQ_INVALID_ARGUMENT, "lq_session_profile: NULL argument or no such operator");
  const lq::Step& step = session->session->steps()[size_t(index)];
  const size_t i = size_t(index);
  const double ms = i < session->times.size() ? session->times[i].milliseconds : 0;
  const lq_profile_entry filled{
      0, lq::op_name(step.op), step.node_name.c_str(), step.kernel, lq::isa_name(step.isa), ms, step.macs};
  return give(filled, "lq_session_profile", "lq_profile_entry", entry);
}
