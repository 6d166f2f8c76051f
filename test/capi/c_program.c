#include "capi/c_program.h"

#include <libquant/libquant.h>
#include <string.h>

int c_program(const char* path, const float* x, float* y) {
  lq_model* model = NULL;
  lq_session* session = NULL;
  lq_session_options options;
  lq_tensor_info info;
  int failed = 0;

  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.threads = 2;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  if (lq_model_open(path, NULL, &model) != LQ_OK) failed = 1;
  else if (lq_session_create(model, &options, &session) != LQ_OK) failed = 2;
  else if (lq_session_input_count(session) != 1 || lq_session_output_count(session) != 1) failed = 3;
  else if (lq_session_input_info(session, 0, &info) != LQ_OK || info.size_bytes != 4 * sizeof(float)) failed = 4;
  else if (info.dtype != LQ_FLOAT32 || info.rank != 2 || info.shape[0] != 1 || info.shape[1] != 4) failed = 5;
  else if (strcmp(info.name, "x") != 0) failed = 6;
  if (failed == 0) {
    memcpy(lq_session_input(session, 0), x, info.size_bytes);
    if (lq_session_run(session) != LQ_OK) failed = 7;
    else if (lq_session_output_info(session, 0, &info) != LQ_OK || info.size_bytes != 2 * sizeof(float)) failed = 8;
    else memcpy(y, lq_session_output(session, 0), info.size_bytes);
  }
  lq_session_free(session);
  lq_model_free(model);
  return failed;
}
