/* libquant: runs INT8 models (model.lqm) made by `quantize`. C API.
 *
 * Threads: an lq_model may be shared by any number of threads; an lq_session belongs to one thread at a time.
 * Errors: functions return an lq_status; lq_last_error() has the message of the calling thread's last failure. A handle
 * that could not be made is NULL.
 * Memory: an lq_session keeps its model alive; lq_model_free / lq_session_free accept NULL. */
#ifndef LIBQUANT_LIBQUANT_H_
#define LIBQUANT_LIBQUANT_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define LQ_API
#else
#define LQ_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lq_status {
  LQ_OK = 0,
  LQ_INVALID_ARGUMENT = 1,
  LQ_NOT_FOUND = 2,
  LQ_IO_ERROR = 3,
  LQ_OUT_OF_MEMORY = 4,
  LQ_UNSUPPORTED = 5,
  LQ_CORRUPT = 6,
  LQ_CANCELLED = 7,
  LQ_INTERNAL = 8
} lq_status;

typedef enum lq_dtype {
  LQ_FLOAT32 = 1,
  LQ_INT8 = 2,
  LQ_UINT8 = 3,
  LQ_INT16 = 4,
  LQ_INT32 = 5,
  LQ_INT64 = 6,
  LQ_BOOL = 7,
  LQ_FLOAT16 = 8,
  LQ_FLOAT64 = 9
} lq_dtype;

typedef struct lq_model lq_model;
typedef struct lq_session lq_session;

/* Set struct_size to sizeof(lq_session_options), the rest to 0 or NULL for defaults. */
typedef struct lq_session_options {
  size_t struct_size;
  int32_t threads;   /* 0: 1 */
  const char* isa;   /* "scalar", "avx2"; NULL: the best this processor has, or what LIBQUANT_ISA names */
} lq_session_options;

#define LQ_MAX_RANK 8
typedef struct lq_tensor_info {
  const char* name;  /* valid as long as the session, until the next resize */
  lq_dtype dtype;
  int32_t rank;
  int64_t shape[LQ_MAX_RANK];
  size_t size_bytes;
} lq_tensor_info;

/* Version of the library as "MAJOR.MINOR.PATCH". */
LQ_API const char* lq_version(void);
/* One line about the calling thread's last failure: file or node, reason, what to do. Never NULL. */
LQ_API const char* lq_last_error(void);

/* Opens a .lqm file (mapped, checked). */
LQ_API lq_status lq_model_open(const char* path, lq_model** model);
/* The same from memory, any alignment, not copied: `data` must stay valid and unchanged until the model and its sessions
 * are freed. */
LQ_API lq_status lq_model_from_memory(const void* data, size_t size, lq_model** model);
LQ_API void lq_model_free(lq_model* model);

/* Plans an execution. Free batch dimensions become 1. `options` may be NULL. */
LQ_API lq_status lq_session_create(lq_model* model, const lq_session_options* options, lq_session** session);
LQ_API void lq_session_free(lq_session* session);
/* Plans anew with another shape for one input; weights are not packed again. */
LQ_API lq_status lq_session_resize(lq_session* session, const char* input, const int64_t* shape, int32_t rank);

LQ_API int32_t lq_session_input_count(const lq_session* session);
LQ_API int32_t lq_session_output_count(const lq_session* session);
LQ_API lq_status lq_session_input_info(const lq_session* session, int32_t index, lq_tensor_info* info);
LQ_API lq_status lq_session_output_info(const lq_session* session, int32_t index, lq_tensor_info* info);

/* Where to write an input (linear order, e.g. NCHW), NULL for a bad index; and where an output is after lq_session_run.
 * Output pointers are valid until the next run or resize. */
LQ_API void* lq_session_input(lq_session* session, int32_t index);
LQ_API const void* lq_session_output(const lq_session* session, int32_t index);

/* Runs once. Allocates nothing. */
LQ_API lq_status lq_session_run(lq_session* session);
/* Bytes of the session's arena (intermediate tensors). */
LQ_API size_t lq_session_arena_bytes(const lq_session* session);

#ifdef __cplusplus
}
#endif
#endif  /* LIBQUANT_LIBQUANT_H_ */
