# The release binaries, and the tests with them.
#
#   make release        build/release/warmer-linux-x86_64, -linux-arm64 and -windows-x86_64.exe
#   make check-release  each of them run as a user would; the last line reads "N passed, N failed"
#                       (SYSTEMS="linux-x86_64" tests the binaries of these systems only; QUICK=yes builds them just
#                       once, and runs as Windows programs only the unit tests of what calls the system)
#
# One host builds every target: zig brings its own C libraries (musl, mingw-w64) and headers. Its version is pinned
# by whoever installs it (ZIG="python -m ziglang" or zig); the same sources and version give the same bytes,
# wherever the tree lies. Two warnings of clang's are off, for what headers hold: musl's ioctl takes an int, the
# kernel's struct fiemap ends in an array.

ZIG ?= zig
RELEASE := $(BUILD)/release
RELEASE_FLAGS := -Wdate-time -Wno-sign-conversion -Wno-gnu-variable-sized-type-not-at-end -O2 -g0 -static -s \
	-Wl,--gc-sections -ffunction-sections -fdata-sections -ffile-prefix-map=$(CURDIR)=.
RELEASE_SOURCES = src/main.c $(COMMON) $(ONLY_$(1))

# Named as EC2 names an instance's architecture: DescribeInstances says arm64 where compilers say aarch64.
SYSTEMS ?= linux-x86_64 linux-arm64 windows-x86_64
binaries_of = $(patsubst %windows-x86_64,%windows-x86_64.exe,$(addprefix $(RELEASE)/warmer-,$(1)))
BINARIES := $(call binaries_of,linux-x86_64 linux-arm64 windows-x86_64)
CHECKED := $(call binaries_of,$(SYSTEMS))
ZIG_ARCHITECTURE = $(patsubst arm64,aarch64,$*)

# What runs a binary that is not this machine's. Both are Debian packages: qemu-user and wine64.
QEMU_ARM64 ?= qemu-aarch64
WINE ?= /usr/lib/wine/wine64
WINE_FOLDER := $(abspath $(BUILD)/wine)

.PHONY: release check-release
release: $(BINARIES)

$(BUILD)/release $(BUILD)/release-tests:
	@mkdir -p $@

$(RELEASE)/warmer-linux-%: $(call RELEASE_SOURCES,linux) $(HEADERS) VERSION Makefile release.mk | $(RELEASE)
	@echo "  release $@"
	@$(ZIG) cc -target $(ZIG_ARCHITECTURE)-linux-musl $(STANDARD) $(WARNINGS) $(RELEASE_FLAGS) -Isrc -o $@ \
		$(call RELEASE_SOURCES,linux) $(LIBRARIES_linux)

$(RELEASE)/warmer-windows-%.exe: $(call RELEASE_SOURCES,windows) $(HEADERS) VERSION Makefile release.mk | $(RELEASE)
	@echo "  release $@"
	@$(ZIG) cc -target $(ZIG_ARCHITECTURE)-windows-gnu $(STANDARD) $(WARNINGS) $(RELEASE_FLAGS) -Isrc -o $@ \
		$(call RELEASE_SOURCES,windows) $(LIBRARIES_windows)

# The unit tests that know no system, and those of Windows's engines, as Windows programs.
WINDOWS_BUILD := $(BUILD)/windows
CALL_THE_SYSTEM := $(filter %/test_process.c %/test_engine_threads.c %/test_mount_point.c %/test_options.c,$(TESTS))
WINDOWS_UNITS := $(if $(QUICK),$(CALL_THE_SYSTEM),$(TESTS)) $(TESTS_windows)
WINDOWS_TESTS := $(patsubst %.c,$(WINDOWS_BUILD)/%,$(WINDOWS_UNITS))
.PHONY: windows-tests
windows-tests:
	@$(MAKE) --no-print-directory -j2 $(WINDOWS_TESTS) SYSTEM=windows BUILD=$(WINDOWS_BUILD) \
		CC="$(ZIG) cc -target x86_64-windows-gnu" AR="$(ZIG) ar" CFLAGS="-O1 -g0 -s"

check-release: $(CHECKED) $(BUILD)/tests/deny $(if $(filter windows-%,$(SYSTEMS)),windows-tests) | $(BUILD)/release-tests
	@SYSTEMS="$(SYSTEMS)" QUICK="$(QUICK)" RELEASE=$(abspath $(RELEASE)) WORK=$(abspath $(BUILD)/release-tests) DENY=$(abspath $(BUILD)/tests/deny) \
		QEMU_ARM64="$(QEMU_ARM64)" WINE="$(WINE)" WINEPREFIX=$(WINE_FOLDER) ZIG="$(ZIG)" \
		tests/release/run.sh $(if $(filter windows-%,$(SYSTEMS)),$(abspath $(WINDOWS_TESTS)))
