/* The tiny model through the C API, compiled by a C compiler. */
#ifndef TEST_CAPI_C_PROGRAM_H_
#define TEST_CAPI_C_PROGRAM_H_
#ifdef __cplusplus
extern "C" {
#endif
/* Runs `path` on x of shape [1,4]; 0 and y of shape [1,2] on success, otherwise the number of the step that failed. */
int c_program(const char* path, const float* x, float* y);
#ifdef __cplusplus
}
#endif
#endif /* TEST_CAPI_C_PROGRAM_H_ */
