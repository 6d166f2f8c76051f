/* Runs a model once and prints the largest value of its first output.
 * Usage: run_model MODEL.lqm [INPUT.bin]   (the raw bytes of the first input, linear order; zeros without it) */
#include <libquant/libquant.h>
#include <stdio.h>

static int fail(const char* what) {
  fprintf(stderr, "run_model: %s: %s\n", what, lq_last_error());
  return 1;
}

/* Fills the first input from a file of exactly its size. */
static int read_input(const char* path, lq_session* session, size_t bytes) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return 0;
  const size_t got = fread(lq_session_input(session, 0), 1, bytes, file);
  const int more = fgetc(file) != EOF;
  fclose(file);
  return got == bytes && !more;
}

static int run(lq_session* session, const char* input_path) {
  lq_tensor_info input = {sizeof input}, output = {sizeof output};
  if (lq_session_input_info(session, 0, &input) != LQ_OK) return fail("input");
  if (lq_session_output_info(session, 0, &output) != LQ_OK) return fail("output");
  if (output.dtype != LQ_FLOAT32 || output.size_bytes == 0) {
    fprintf(stderr, "run_model: output '%s' is not float32\n", output.name);
    return 1;
  }
  if (input_path != NULL && !read_input(input_path, session, input.size_bytes)) {
    fprintf(stderr, "run_model: %s: not a readable file of the %zu bytes of input '%s'\n", input_path, input.size_bytes, input.name);
    return 1;
  }
  if (lq_session_run(session) != LQ_OK) return fail("run");
  const float* values = lq_session_output(session, 0);
  size_t best = 0;
  for (size_t i = 1; i < output.size_bytes / sizeof(float); ++i) {
    if (values[i] > values[best]) best = i;
  }
  printf("%s: largest value %g at %zu\n", output.name, values[best], best);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: run_model MODEL.lqm [INPUT.bin]\n");
    return 2;
  }
  lq_model* model;
  lq_session* session;
  if (lq_model_open(argv[1], NULL, &model) != LQ_OK) return fail("model");
  int result = 1;
  if (lq_session_create(model, NULL, &session) != LQ_OK) {
    fail("session");
  } else {
    result = run(session, argc == 3 ? argv[2] : NULL);
    lq_session_free(session);
  }
  lq_model_free(model);
  return result;
}
