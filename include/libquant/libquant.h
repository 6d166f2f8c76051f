/* libquant: runs INT8 models (model.lqm) made by `quantize`. C API, C99.
 *
 * Errors: functions return an lq_status; lq_last_error() has the message of the calling thread's last failure. Pointers
 *   that a failed function would have set are NULL. Nothing throws, prints or ends the program.
 * Threads: an lq_model may be used by any number of threads at once. An lq_session belongs to one thread at a time;
 * only lq_session_cancel may be called beside it. lq_last_error() is each thread's own. Results do not depend on
 * threads, processor or time of day. Lifetime: a session keeps what it needs of its model alive, so lq_model_free may
 * come first. Free functions accept NULL. Structs begin with struct_size: set it to sizeof of the struct and the rest
 * to 0 (lq_image image = {sizeof image}). A library older than the header refuses fields it does not know unless they
 * are 0; a newer one reads missing ones as 0. Callbacks must not throw, and of the session they serve may call
 * lq_session_cancel only. */
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
  LQ_INVALID_ARGUMENT = 1, /* the caller's mistake: NULL, a bad index, shape, size or option */
  LQ_NOT_FOUND = 2,        /* no such file, no such name */
  LQ_IO_ERROR = 3,         /* the system could not read or map a file */
  LQ_OUT_OF_MEMORY = 4,    /* also: no thread left */
  LQ_UNSUPPORTED = 5,      /* a newer file, an operator or ISA this build or processor lacks */
  LQ_CORRUPT = 6,          /* a damaged or hostile file */
  LQ_CANCELLED = 7,        /* by lq_session_cancel */
  LQ_INTERNAL = 8          /* a bug in libquant */
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

/* Where channels stand. NCHW: [batch, channels, height, width] or without the batch; NHWC: channels last. */
typedef enum lq_layout { LQ_LAYOUT_MODEL = 0, LQ_LAYOUT_NCHW = 1, LQ_LAYOUT_NHWC = 2 } lq_layout;

typedef enum lq_pixel_format {
  LQ_PIXEL_GRAY = 0, /* 1 byte a pixel */
  LQ_PIXEL_RGB = 1,  /* 3 bytes, in this order */
  LQ_PIXEL_BGR = 2,
  LQ_PIXEL_RGBA = 3, /* 4 bytes; alpha is dropped, not blended */
  LQ_PIXEL_BGRA = 4
} lq_pixel_format;

typedef enum lq_log_level { LQ_LOG_DEBUG = 0, LQ_LOG_INFO = 1, LQ_LOG_WARNING = 2, LQ_LOG_ERROR = 3 } lq_log_level;

typedef struct lq_model lq_model;
typedef struct lq_session lq_session;

/* Memory of weights, packed weights, arena, inputs and outputs. allocate: `size` bytes aligned to `alignment` (a power
 * of two), or NULL; may be called by every thread that uses the model or session. Both functions or neither. */
typedef struct lq_allocator {
  void* (*allocate)(void* context, size_t size, size_t alignment);
  void (*release)(void* context, void* memory, size_t size);
  void* context;
} lq_allocator;

/* One line without a line end. `message` is valid during the call. */
typedef void (*lq_log_fn)(void* context, lq_log_level level, const char* message);

/* The application's own thread pool: calls task(task_context, i) once for each i in [0, count), on any threads and in
 * any order, and returns when all calls have. */
typedef void (*lq_task_fn)(void* task_context, int32_t index);
typedef void (*lq_parallel_for_fn)(void* context, int32_t count, lq_task_fn task, void* task_context);

typedef struct lq_model_options {
  size_t struct_size;
  lq_allocator allocator; /* packed weights; must outlive the model and its sessions. Zeros: the C library's */
} lq_model_options;

typedef struct lq_input_shape {
  const char* name;
  const int64_t* shape;
  int32_t rank;
} lq_input_shape;

/* SMALL: pages of a mapped model file leave memory once their weights are packed, so that weights are there once, not
 * twice. Runs take as long; a later resize or session reads the file again. On Linux 5.4 and later, if the process may
 * write the file, and on Apple systems; elsewhere pages stay until the system wants them. */
typedef enum lq_memory_use { LQ_MEMORY_DEFAULT = 0, LQ_MEMORY_SMALL = 1 } lq_memory_use;

typedef struct lq_session_options {
  size_t struct_size;
  int32_t threads; /* pieces of work at once, 1 to 1024; 0: 1 */
  const char*
      isa; /* "scalar", "avx2", "neon_dotprod" …; NULL: the best this processor has, or what LIBQUANT_ISA names */
  const lq_input_shape* input_shapes; /* shapes the model leaves free; a free first dimension not given becomes 1 */
  int32_t input_shape_count;
  const int32_t*
      cores;          /* Linux and Android: the processors threads may run on, the calling one during a run included */
  int32_t core_count; /* 0: any */
  lq_allocator allocator;          /* arena, inputs and outputs; must outlive the session. Zeros: the C library's */
  lq_parallel_for_fn parallel_for; /* the application's threads instead of the library's; not together with cores */
  void* parallel_for_context;
  lq_log_fn
      log; /* what was planned (info), each step's kernel (debug); called from the session's thread. NULL: nothing */
  void* log_context;
  lq_memory_use memory;
  int32_t reserved; /* 0. Without it the next member would lie in what was padding before, where older callers write
                       nothing */
  /* Linux and Android: not 0 gives each thread, the calling one during a run included, a processor of its own, of
   * `cores` or of all: one of each physical core first, then their hyper-threads. Not together with parallel_for. */
  int32_t pin_threads;
} lq_session_options;

#define LQ_MAX_RANK 8
typedef struct lq_tensor_info {
  size_t struct_size;
  const char* name; /* valid until the session is freed or resized */
  lq_dtype dtype;
  int32_t rank;
  int64_t shape[LQ_MAX_RANK];
  size_t size_bytes; /* of the tensor in its own type, without padding */
  /* How int8 (or uint8) values stand for the real ones at this end of the model: real = scale * (q - zero_point). */
  lq_dtype quantized_dtype; /* 0: not quantized, it can be bound in its own type only */
  float scale;
  int32_t zero_point;
  lq_layout layout;     /* inputs with stored preprocessing: their layout; otherwise LQ_LAYOUT_NCHW */
  int32_t takes_images; /* 1: the model stores preprocessing for this input, so lq_session_set_image works */
} lq_tensor_info;

/* Memory of the caller's to bind as an input or output. */
typedef struct lq_buffer {
  size_t struct_size;
  void* data;        /* aligned to its elements */
  size_t size_bytes; /* bytes there are, at least those of the tensor in this type */
  lq_dtype dtype; /* 0: the tensor's own; LQ_INT8 or LQ_UINT8 for a float tensor with that quantized_dtype, LQ_FLOAT32
                     the other way */
  lq_layout layout;
} lq_buffer;
/* Bytes behind a tensor that a buffer used in place must have: vector loads and stores may touch them. */
#define LQ_BUFFER_SLACK 64

typedef struct lq_image {
  size_t struct_size;
  const uint8_t* pixels; /* row 0 is the top; turned upright by the caller */
  int32_t width, height; /* at most 65536 each, 128 Mpixel in all */
  size_t stride;         /* bytes from row to row; 0: rows without padding */
  lq_pixel_format format;
} lq_image;

/* Bytes a session would allocate. */
typedef struct lq_memory {
  size_t struct_size;
  size_t arena_bytes;  /* intermediate tensors, from the session's allocator */
  size_t io_bytes;     /* input and output buffers, from the session's allocator */
  size_t packed_bytes; /* weights in the kernels' order, from the model's allocator; once for all sessions of one ISA */
} lq_memory;

typedef struct lq_profile_entry {
  size_t struct_size;
  const char* op;      /* "Conv" */
  const char* node;    /* the node's name, "" without one */
  const char* kernel;  /* "conv_u8_8x32__avx512vnni" */
  const char* isa;     /* of that kernel */
  double milliseconds; /* wall time of the last lq_session_run_profiled */
  int64_t macs;        /* multiply-adds of a convolution or matrix product, otherwise 0 */
} lq_profile_entry;

/* Version of the library as "MAJOR.MINOR.PATCH". */
LQ_API const char* lq_version(void);
/* One line about the calling thread's last failure: file or node, reason, what to do. Never NULL; valid until the
 * thread's next failure. */
LQ_API const char* lq_last_error(void);

/* Memory for model and session options: the C library's, but what is 2 MB or larger begins on a multiple of 2 MB and
 * asks Linux for huge pages (madvise; where the system gives none it is ordinary memory). */
LQ_API lq_allocator lq_huge_page_allocator(void);

/* --- Models. `options` may be NULL. */

/* Opens a .lqm file: mapped, checked. */
LQ_API lq_status lq_model_open(const char* path, const lq_model_options* options, lq_model** model);
/* The same from memory at any address, not copied: `data` must stay valid and unchanged until the model and all its
 * sessions are freed. */
LQ_API lq_status lq_model_from_memory(const void* data, size_t size, const lq_model_options* options, lq_model** model);
/* The same from `length` bytes (0: all) at any `offset` of an open regular file, mapped: an uncompressed Android asset,
 * as AAsset_openFileDescriptor64 gives it. The descriptor stays the caller's and may be closed at once. */
LQ_API lq_status lq_model_from_fd(int fd, uint64_t offset, uint64_t length, const lq_model_options* options,
                                  lq_model** model);
LQ_API void lq_model_free(lq_model* model);

/* --- Sessions. `options` may be NULL. */

/* What lq_session_create would allocate with these options, without allocating it. */
LQ_API lq_status lq_session_measure(const lq_model* model, const lq_session_options* options, lq_memory* memory);
/* Plans an execution and packs weights no other session of the model has packed. */
LQ_API lq_status lq_session_create(const lq_model* model, const lq_session_options* options, lq_session** session);
LQ_API void lq_session_free(lq_session* session);
/* Plans anew with another shape for one input; weights are not packed again, bound buffers are let go. A failure leaves
 * the session as it was. */
LQ_API lq_status lq_session_resize(lq_session* session, const char* input, const int64_t* shape, int32_t rank);
/* The same for several inputs at once, e.g. those that share a batch. */
LQ_API lq_status lq_session_resize_inputs(lq_session* session, const lq_input_shape* shapes, int32_t count);
/* Bytes of the session's arena (intermediate tensors). 0 for NULL. */
LQ_API size_t lq_session_arena_bytes(const lq_session* session);
/* The instruction set in use, e.g. "avx2". "" for NULL. */
LQ_API const char* lq_session_isa(const lq_session* session);

/* --- Inputs and outputs, by index in the model's order. */

LQ_API int32_t lq_session_input_count(const lq_session* session);
LQ_API int32_t lq_session_output_count(const lq_session* session);
/* Index of a name, -1 if there is none. */
LQ_API int32_t lq_session_find_input(const lq_session* session, const char* name);
LQ_API int32_t lq_session_find_output(const lq_session* session, const char* name);
/* Fills `info`, whose struct_size the caller has set. */
LQ_API lq_status lq_session_input_info(const lq_session* session, int32_t index, lq_tensor_info* info);
LQ_API lq_status lq_session_output_info(const lq_session* session, int32_t index, lq_tensor_info* info);

/* The session's own buffers, linear (row-major) in the model's layout, 64-byte-aligned: where to write an input, where
 * an output is after lq_session_run. NULL for a bad index. Valid until the next resize, an output's values until the
 * next run. Beside a bound buffer: that buffer if it is used in place, otherwise ours, which the run fills too. */
LQ_API void* lq_session_input(lq_session* session, int32_t index);
LQ_API const void* lq_session_output(const lq_session* session, int32_t index);

/* From now on a run reads this input from, or writes this output to, the caller's memory. It must stay valid until a
 * NULL buffer unbinds it, a resize succeeds or the session is freed. Without a copy if data is 64-byte-aligned, dtype
 * and layout are the tensor's own and size_bytes has LQ_BUFFER_SLACK to spare (those bytes are overwritten with
 * anything); otherwise converted at each run: int8 by scale and zero point, which gives the bits of the float input
 * that quantizes to it. */
LQ_API lq_status lq_session_bind_input(lq_session* session, int32_t index, const lq_buffer* buffer);
LQ_API lq_status lq_session_bind_output(lq_session* session, int32_t index, const lq_buffer* buffer);

/* Fills image `batch` of an input from pixels: the model's own stored preprocessing (color, resize, crop, mean and
 * std), the same bits as the tools compute from the same pixels. The pixels are not kept. LQ_NOT_FOUND if the model
 * stores none. */
LQ_API lq_status lq_session_set_image(lq_session* session, int32_t index, int32_t batch, const lq_image* image);

/* --- Running. */

/* Runs once. Allocates nothing. */
LQ_API lq_status lq_session_run(lq_session* session);
/* From any thread, while the session lives: the run in progress ends with LQ_CANCELLED before its next operator.
 * Without a run in progress it has no effect. */
LQ_API void lq_session_cancel(lq_session* session);
/* lq_session_run with the time of each operator. */
LQ_API lq_status lq_session_run_profiled(lq_session* session);
/* Operators of the plan, in the order they run. */
LQ_API int32_t lq_session_profile_count(const lq_session* session);
/* Fills `entry`, whose struct_size the caller has set. Its texts are valid until the session is freed or resized;
 * milliseconds are 0 before the first profiled run. */
LQ_API lq_status lq_session_profile(const lq_session* session, int32_t index, lq_profile_entry* entry);

#ifdef __cplusplus
}
#endif
#endif /* LIBQUANT_LIBQUANT_H_ */
