// From the reset of an x86-64 processor to run_checks(), without firmware: this is the ROM itself (link.ld). Copies
// what lies in the ROM to 1 MB, maps the lower 4 GB one to one, enters long mode and enables all register files.
.section .start, "ax"
.code16
start16:
  cli
  lgdtl %cs:(table_address - start16 + 0xF000)
  movl %cr0, %eax
  orl $1, %eax
  movl %eax, %cr0
  ljmpl $8, $start32

.code32
start32:
  movw $16, %ax
  movw %ax, %ds
  movw %ax, %es
  movw %ax, %ss
  cld
  movl $rom, %esi
  movl $payload, %edi
  movl $payload_words, %ecx
  rep movsl
  xorl %eax, %eax
  movl $bss, %edi
  movl $bss_words, %ecx
  rep stosl
  movl $page_directory_pointers + 3, page_map      // present, writable
  movl $page_directories + 3, page_directory_pointers
  movl $page_directories + 0x1003, page_directory_pointers + 8
  movl $page_directories + 0x2003, page_directory_pointers + 16
  movl $page_directories + 0x3003, page_directory_pointers + 24
  movl $page_directories, %edi
  movl $0x83, %eax                                 // and of 2 MB
  movl $2048, %ecx
1:
  movl %eax, (%edi)
  addl $0x200000, %eax
  addl $8, %edi
  loop 1b
  movl $page_map, %eax
  movl %eax, %cr3
  movl %cr4, %eax
  orl $0x40620, %eax                               // PAE, OSFXSR, OSXMMEXCPT, OSXSAVE
  movl %eax, %cr4
  movl $0xC0000080, %ecx                           // EFER.LME
  rdmsr
  orl $0x100, %eax
  wrmsr
  movl %cr0, %eax
  andl $0x9FFFFFF3, %eax                           // caches on; EM, TS off
  orl $0x80000002, %eax                            // PG, MP
  movl %eax, %cr0
  ljmpl $24, $start64

.align 8
descriptors:                                       // marked as accessed: nothing can be written here
  .quad 0, 0x00CF9B000000FFFF, 0x00CF93000000FFFF, 0x00AF9B000000FFFF
table_address:
  .word 31
  .long descriptors

.org 0xFF0
.code16
.globl start
start:
  jmp start16
.org 0x1000

.section .text.start64, "ax"
.code64
start64:
  movw $16, %ax
  movw %ax, %ds
  movw %ax, %es
  movw %ax, %ss
  movq $stack_top, %rsp
  movl $13, %eax
  xorl %ecx, %ecx
  cpuid                                            // eax: register files of XCR0
  andl $0xE7, %eax                                 // x87, SSE, AVX, AVX-512
  xorl %edx, %edx
  xorl %ecx, %ecx
  xsetbv
  call run_checks
2:
  hlt
  jmp 2b

.section .bss, "aw", @nobits
.align 4096
page_map: .skip 4096
page_directory_pointers: .skip 4096
page_directories: .skip 4 * 4096
stack: .skip 0x40000
stack_top:
