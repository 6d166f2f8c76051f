# Runs ROM, the bare-metal image, in Bochs as an Ice Lake and looks for its verdict on the serial port. Variables: ROM, WORK.
find_program(BOCHS bochs)
find_program(SCRIPT script)
if(NOT BOCHS OR NOT SCRIPT)
  message(STATUS "no bochs or script (packages bochs, bochs-term, bsdutils): AVX512-VNNI kernels on bare metal skipped")
  return()
endif()
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
file(WRITE "${WORK}/bochsrc" "display_library: term
memory: guest=64, host=64
romimage: file=${ROM}
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
cpu: model=corei7_icelake_u, count=1, ips=100000000
clock: sync=none, time0=946681200
com1: enabled=1, mode=file, dev=serial.txt
log: bochs.log
panic: action=fatal
")
file(WRITE "${WORK}/commands" "continue\n")  # Debian's Bochs is built with its debugger
set(ENV{TERM} xterm)
execute_process(COMMAND "${SCRIPT}" -qfec "${BOCHS} -q -f bochsrc -rc commands" typescript WORKING_DIRECTORY "${WORK}"
  TIMEOUT 150 INPUT_FILE /dev/null OUTPUT_QUIET ERROR_QUIET)
if(NOT EXISTS "${WORK}/serial.txt")
  message(FATAL_ERROR "Bochs did not run: see ${WORK}/typescript and ${WORK}/bochs.log")
endif()
file(READ "${WORK}/serial.txt" serial)
message("${serial}")
if(NOT serial MATCHES "(^|\n)PASS [0-9]+\n")
  message(FATAL_ERROR "no PASS from the image: see ${WORK}")
endif()
