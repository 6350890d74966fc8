# Fuzzing. `make check` replays the committed corpus with the system's compiler; these fuzz on, with clang:
#
#   make fuzz-used FUZZ_ARGS="-runs=1000000"     likewise fuzz-order, fuzz-map, fuzz-options, fuzz-nvme_log,
#                                                fuzz-manifest, fuzz-pack, fuzz-unpack, fuzz-histogram,
#                                                fuzz-ring_page, fuzz-mount_tables
#   make fuzz FUZZ_ARGS="-max_total_time=60"     each target in turn

CLANG ?= clang
FUZZ_ARGS ?= -max_total_time=60
FUZZ_TARGETS := used order map options nvme_log manifest pack unpack histogram ring_page mount_tables
FUZZ_PROGRAMS := $(addprefix $(BUILD)/fuzz/replay_,$(FUZZ_TARGETS))
FUZZ_HEADERS := $(wildcard tests/fuzz/*.h)

.PHONY: fuzz $(addprefix fuzz-,$(FUZZ_TARGETS))

$(BUILD)/fuzz:
	@mkdir -p $@

$(BUILD)/fuzz/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c tests/fuzz/fuzz_image.c $(FUZZ_HEADERS) $(LIBRARY) | $(BUILD)/fuzz
	@echo "  compile $<"
	@$(CC) $(STANDARD) $(WARNINGS) $(CFLAGS) $(CPPFLAGS) -Isrc -Itests/fuzz -o $@ $(filter %.c,$^) $(LIBRARY) \
		$(LIBRARIES_$(SYSTEM))

$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/fuzz_image.c $(FUZZ_HEADERS) $(SOURCES) | $(BUILD)/fuzz
	@$(CLANG) $(STANDARD) -O2 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Isrc -Itests/fuzz \
		-o $@ $(filter %.c,$^) $(LIBRARIES_$(SYSTEM))

# What is found goes to build/, what is committed stays as it is.
$(addprefix fuzz-,$(FUZZ_TARGETS)): fuzz-%: $(BUILD)/fuzz/fuzz_%
	@mkdir -p $(BUILD)/fuzz/found/$*
	cd $(BUILD)/fuzz && ./fuzz_$* $(FUZZ_ARGS) found/$* $(CURDIR)/tests/fuzz/corpus/$*

fuzz: $(addprefix fuzz-,$(FUZZ_TARGETS))
