# Turns the archive of libquant.cc into the static library that ships: its object and the floors' objects, partially linked into one,
# every symbol but those of libquant.map local (an application may carry another flatbuffers). objcopy leaves STB_GNU_UNIQUE symbols global, so
# what ships is compiled with -fno-gnu-unique. Called by source/capi with -DCXX -DAR -DOBJCOPY -DARCHIVE -DFLOORS -DMAP.
get_filename_component(folder "${ARCHIVE}" DIRECTORY)
function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY "${folder}" RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "localise_archive: ${command}\n${output}")
  endif()
endfunction()
# Section groups are dissolved: a group the application has too (std::string's, say) would take the place of ours, whose symbols are local.
run("${CXX}" -r -nostdlib -Wl,--force-group-allocation -Wl,--whole-archive "${ARCHIVE}" -Wl,--no-whole-archive -Wl,--start-group ${FLOORS} -Wl,--end-group -o libquant_all.o)
file(STRINGS "${MAP}" exported REGEX "^ *lq_[a-z0-9_]+;$")
list(TRANSFORM exported REPLACE "^ *(.*)\;$" "--keep-global-symbol=\\1")
run("${OBJCOPY}" ${exported} libquant_all.o)
file(REMOVE "${ARCHIVE}")
run("${AR}" rcs "${ARCHIVE}" libquant_all.o)
file(REMOVE "${folder}/libquant_all.o")
