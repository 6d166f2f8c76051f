#include "emulation/avxvnni_trap.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace lq::test {
namespace {

long trapped = 0;

/// Where the XSAVE area of a signal frame keeps the upper halves of ymm registers: the standard format of the Intel SDM
/// (volume 1, 13.4), component 2 at its fixed offset 576; xmm registers are those of FXSAVE.
constexpr size_t kXmm = 160, kYmmHigh = 576, kHeader = 512;

struct Frame {
  greg_t* general;
  uint8_t* saved;

  uint64_t& components() { return *reinterpret_cast<uint64_t*>(saved + kHeader); }
  void read(int r, void* to) {
    memcpy(to, saved + kXmm + 16 * r, 16);
    if ((components() & 4) != 0) {
      memcpy(static_cast<uint8_t*>(to) + 16, saved + kYmmHigh + 16 * r, 16);
    } else {
      memset(static_cast<uint8_t*>(to) + 16, 0, 16);  // the component is in its initial state
    }
  }
  /// As VEX instructions do: what lies above `bytes` becomes 0.
  void write(int r, const void* from, size_t bytes) {
    if ((components() & 4) == 0) memset(saved + kYmmHigh, 0, 16 * 16);
    components() |= 6;
    memcpy(saved + kXmm + 16 * r, from, 16);
    memset(saved + kYmmHigh + 16 * r, 0, 16);
    memcpy(saved + kYmmHigh + 16 * r, static_cast<const uint8_t*>(from) + 16, bytes - 16);
  }
  uint64_t of(int r) const {  // by their number in an instruction
    static const int kOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                   REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return uint64_t(general[kOrder[r]]);
  }
};

int64_t displacement(const uint8_t*& p, size_t bytes) {
  int32_t wide;
  if (bytes == 1) return int8_t(*p++);
  memcpy(&wide, p, 4);
  p += 4;
  return wide;
}

/// Address of the ModRM byte `m`'s memory operand; p, behind that byte, moves behind the operand. No immediate follows.
uint64_t address_of(const Frame& f, uint8_t m, bool extend_index, bool extend_base, const uint8_t*& p) {
  const int mode = m >> 6, low = m & 7;
  uint64_t address = 0;
  bool wide_only = false;  // a 32-bit displacement without a base
  if (low == 4) {
    const uint8_t sib = *p++;
    const int index = ((sib >> 3) & 7) | (extend_index ? 8 : 0), base = sib & 7;
    wide_only = base == 5 && mode == 0;
    if (!wide_only) address = f.of(base | (extend_base ? 8 : 0));
    if (index != 4) address += f.of(index) << (sib >> 6);
  } else if (low == 5 && mode == 0) {  // relative to the next instruction
    const int64_t offset = displacement(p, 4);
    return uint64_t(reinterpret_cast<uintptr_t>(p)) + uint64_t(offset);
  } else {
    address = f.of(low | (extend_base ? 8 : 0));
  }
  if (mode == 1) address += uint64_t(displacement(p, 1));
  if (mode == 2 || wide_only) address += uint64_t(displacement(p, 4));
  return address;
}

/// acc += the dot products of 32-bit lanes: 4 of uint8 by int8, or 2 of int16; with bit 0 of the opcode saturated.
void dot(uint8_t opcode, int lanes, int32_t* acc, const uint8_t* a, const uint8_t* b) {
  for (int i = 0; i < lanes; ++i, a += 4, b += 4) {
    int64_t sum = acc[i];
    if (opcode < 0x52) {
      for (int j = 0; j < 4; ++j) sum += int32_t(a[j]) * int8_t(b[j]);
    } else {
      int16_t u[2], v[2];
      memcpy(u, a, 4), memcpy(v, b, 4);
      sum += int64_t(u[0]) * v[0] + int64_t(u[1]) * v[1];
    }
    if ((opcode & 1) != 0) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    acc[i] = int32_t(uint32_t(uint64_t(sum)));
  }
}

/// VEX.66.0F38 50…53 in three bytes; W is ignored.
bool is_vnni(const uint8_t* p) {
  return p[0] == 0xC4 && (p[1] & 0x1F) == 2 && (p[2] & 3) == 1 && p[3] >= 0x50 && p[3] <= 0x53;
}

bool emulate(Frame& f) {
  const uint8_t* p = reinterpret_cast<const uint8_t*>(f.general[REG_RIP]);
  if (!is_vnni(p)) return false;
  const bool extend_reg = (p[1] & 0x80) == 0, extend_index = (p[1] & 0x40) == 0, extend_base = (p[1] & 0x20) == 0;
  const int source = (~(p[2] >> 3)) & 15;
  const size_t bytes = (p[2] & 4) != 0 ? 32 : 16;
  const uint8_t opcode = p[3], m = p[4];
  p += 5;
  int32_t acc[8];
  uint8_t a[32], b[32] = {};
  const int target = ((m >> 3) & 7) | (extend_reg ? 8 : 0);
  f.read(target, acc), f.read(source, a);
  if (m >> 6 == 3) {
    f.read((m & 7) | (extend_base ? 8 : 0), b);
  } else {
    memcpy(b, reinterpret_cast<const void*>(uintptr_t(address_of(f, m, extend_index, extend_base, p))), bytes);
  }
  dot(opcode, int(bytes / 4), acc, a, b);
  f.write(target, acc, bytes);
  f.general[REG_RIP] = greg_t(reinterpret_cast<uintptr_t>(p));
  return true;
}

void on_illegal(int, siginfo_t*, void* context) {
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  Frame frame{machine.gregs, reinterpret_cast<uint8_t*>(machine.fpregs)};
  if (emulate(frame)) {
    ++trapped;
  } else {
    signal(SIGILL, SIG_DFL);  // the instruction runs again and ends the program
  }
}

}  // namespace

void install_avxvnni_trap() {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_sigaction = on_illegal;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, nullptr);
}

long trapped_instructions() { return trapped; }

int with_trapping_encoding(uint8_t* begin, uint8_t* end) {
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE)), first = reinterpret_cast<uintptr_t>(begin) / page * page;
  const size_t size = reinterpret_cast<uintptr_t>(end) - first;
  if (mprotect(reinterpret_cast<void*>(first), size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return -1;
  int found = 0;
  for (uint8_t* p = begin; p + 5 <= end; ++p) {
    if (!is_vnni(p)) continue;
    p[2] |= 0x80;
    ++found;
  }
  return found;
}

}  // namespace lq::test
