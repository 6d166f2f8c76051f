// A plugin for qemu's user-mode emulators: prints how many instructions the program executed.
// Declared here is what it needs of the plugin interface (version 1, QEMU 4.2 and later): Debian has no header of it.
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef uint64_t plugin_id;
struct block;
enum inline_operation { kAddToCounter };
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*on_block)(plugin_id, struct block*));
void qemu_plugin_register_vcpu_tb_exec_inline(struct block* block, enum inline_operation op, void* counter, uint64_t add);
size_t qemu_plugin_tb_n_insns(const struct block* block);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*on_exit)(plugin_id, void*), void* data);
void qemu_plugin_outs(const char* text);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

static uint64_t executed;

// Translated once, executed often: the emulator adds the block's length each time.
static void on_block(plugin_id id, struct block* block) {
  qemu_plugin_register_vcpu_tb_exec_inline(block, kAddToCounter, &executed, qemu_plugin_tb_n_insns(block));
}

static void on_exit(plugin_id id, void* data) {
  char line[64];
  snprintf(line, sizeof line, "instructions %" PRIu64 "\n", executed);
  qemu_plugin_outs(line);
}

EXPORT int qemu_plugin_install(plugin_id id, const void* info, int argc, char** argv) {
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
  qemu_plugin_register_atexit_cb(id, on_exit, NULL);
  return 0;
}
