#include "check.h"
#include "commands/options.h"

#define MAX_WORDS 12

/** Parse the words after the program's name. */
static int parse(const char *const *words, struct options *options, struct diag *diag) {
    char *arguments[MAX_WORDS + 2] = {(char *)(uintptr_t)"warmer"};
    int count = 1;
    for (; words[count - 1] != NULL; count++) {
        arguments[count] = (char *)(uintptr_t)words[count - 1];
    }
    *diag = (struct diag){{0}};
    return options_parse(count, arguments, options, diag);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void everything_has_a_default(void) {
    struct options options;
    struct diag diag;
    CHECK_EQ(parse(WORDS("warm", "/dev/sdf"), &options, &diag), 0);
    CHECK_EQ(options.command, COMMAND_WARM);
    CHECK_TEXT(options.device, "/dev/sdf");
    CHECK_TEXT(options.engine, "auto");
    CHECK_EQ(options.depth, 0);
    CHECK_EQ(options.order, ORDER_AUTO);
    CHECK(options.map_path == NULL && options.first_path == NULL && options.state_path == NULL);
    CHECK(options.max_mib_s <= 0 && !options.has_progress);
    CHECK_EQ(parse(WORDS("verify", "d"), &options, &diag), 0);
    CHECK_EQ(options.samples, 200);
    CHECK_BETWEEN(options.max_p99_ms, 10, 10);
}

static void values_come_after_a_space_or_an_equals_sign(void) {
    struct options options;
    struct diag diag;
    CHECK_EQ(parse(WORDS("warm", "--map=-", "--depth", "64", "d", "--max-mib-s=12.5", "--progress", "json"),
                   &options, &diag),
             0);
    CHECK_TEXT(options.map_path, "-");
    CHECK_EQ(options.depth, 64);
    CHECK_BETWEEN(options.max_mib_s, 12.5, 12.5);
    CHECK_EQ(options.progress, PROGRESS_JSON);
    CHECK_EQ(parse(WORDS("warm", "d", "--engine", "threads", "--state", "s", "--first=f", "--depth=auto"),
                   &options, &diag),
             0);
    CHECK_TEXT(options.engine, "threads");
    CHECK_TEXT(options.state_path, "s");
    CHECK_TEXT(options.first_path, "f");
    CHECK(!options.first_unlimited);
    CHECK_EQ(parse(WORDS("warm", "d", "--first", "f", "--first-unlimited"), &options, &diag), 0);
    CHECK(options.first_unlimited);
    CHECK_EQ(options.first_most, UINT64_MAX);
    CHECK_EQ(parse(WORDS("warm", "d", "--first", "f", "--first-most", "10"), &options, &diag), 0);
    CHECK_EQ(options.first_most, 10);
    CHECK_EQ(parse(WORDS("warm", "d", "--order", "recent,lists"), &options, &diag), 0);
    CHECK_EQ(options.order, ORDER_LISTS | ORDER_RECENT);
    CHECK_EQ(parse(WORDS("warm", "d", "--order=none"), &options, &diag), 0);
    CHECK_EQ(options.order, ORDER_NONE);
    CHECK_EQ(parse(WORDS("warm", "d", "--order=structures,lists,logs,recent"), &options, &diag), 0);
    CHECK_EQ(options.order, ORDER_AUTO);
    CHECK_EQ(
        parse(WORDS("verify", "d", "--samples", "7", "--max-p99-ms", "0.5", "--seed=0"), &options, &diag), 0);
    CHECK_EQ(options.samples, 7);
    CHECK(options.has_seed && options.seed == 0);
}

static void what_a_document_starts_names_everything(void) {
    struct options options;
    struct diag diag;
    CHECK_EQ(parse(WORDS("run", "--action=warm", "--volume=vol-0123456789abcdef0", "--arguments=--depth 4",
                         "--cold-arguments=", "--home=h"),
                   &options, &diag),
             0);
    CHECK_EQ(options.action, ACTION_WARM);
    CHECK_TEXT(options.volume, "vol-0123456789abcdef0");
    CHECK_TEXT(options.arguments, "--depth 4");
    CHECK_TEXT(options.cold_arguments, "");
    CHECK_TEXT(options.home, "h");
    CHECK(options.device == NULL);
    CHECK_EQ(parse(WORDS("run", "--volume=vol-0123456789abcdef0"), &options, &diag), WARMER_USAGE);
    CHECK_TEXT(diag.text, "`warmer run` needs --action");
    CHECK_EQ(parse(WORDS("run", "--action=verify"), &options, &diag), WARMER_USAGE);
    CHECK_TEXT(diag.text, "`warmer run` needs --volume");
    CHECK_EQ(parse(WORDS("run", "--action=check"), &options, &diag), WARMER_USAGE);
    CHECK_EQ(parse(WORDS("device-use", "--action=online", "--volume=vol-0123456789abcdef0"), &options, &diag),
             0);
    CHECK_EQ(options.action, ACTION_ONLINE);
    CHECK(options.mount == NULL);
    CHECK_EQ(parse(WORDS("device-use", "--action=online", "--volume=vol-0123456789abcdef0", "--mount=E:"),
                   &options, &diag),
             0);
    CHECK_TEXT(options.mount, "E:");
    CHECK_EQ(parse(WORDS("device-use", "--action=check", "--volume=vol-0123456789abcdef0", "--mount="),
                   &options, &diag),
             0);
    CHECK(options.mount == NULL);
    CHECK_EQ(parse(WORDS("bench", "--targets=/a /b", "--jobs=r 1 --rw=read", "--install-fio=yes"), &options,
                   &diag),
             0);
    CHECK(options.install_fio && options.limit_seconds == 3600);
    CHECK_EQ(parse(WORDS("bench", "--file=f", "--folder=d"), &options, &diag), 0);
    CHECK_EQ(parse(WORDS("bench", "--targets=/a"), &options, &diag), WARMER_USAGE);
    CHECK_TEXT(diag.text, "`warmer bench` needs --targets and --jobs, or --file and --folder");
    CHECK_EQ(parse(WORDS("run", "--volume=vol-1"), &options, &diag), WARMER_USAGE);
    CHECK_TEXT(diag.text, "--volume vol-1: allowed is vol- and 17 or 8 hexadecimal digits");
    CHECK_EQ(parse(WORDS("run", "--volume=vol-123456789"), &options, &diag), WARMER_USAGE);
    CHECK_EQ(parse(WORDS("device-use", "--action=online", "--volume=vol-1234abcd"), &options, &diag), 0);
    CHECK_EQ(parse(WORDS("device-use", "--action=online", "--volume=vol-0123456789abcdef0"), &options, &diag),
             0);
}

static void extents_takes_any_number_of_files(void) {
    struct options options;
    struct diag diag;
    CHECK_EQ(parse(WORDS("extents", "a", "b", "c"), &options, &diag), 0);
    CHECK_EQ(options.command, COMMAND_EXTENTS);
    CHECK_EQ(options.file_count, 3);
    CHECK_TEXT(options.files[2], "c");
    CHECK_EQ(parse(WORDS("warm", "--touch", "d", "--scope", "used"), &options, &diag), 0);
    CHECK(options.touch && options.scope == SCOPE_USED);
    CHECK_TEXT(options.device, "d");
}

static void mount_is_told_the_volume_alone(void) {
    struct options options;
    struct diag diag;
    CHECK_EQ(parse(WORDS("mount", "--volume=vol-1234abcd", "--path=", "--options="), &options, &diag), 0);
    CHECK(options.path == NULL);
    CHECK_TEXT(options.volume, "vol-1234abcd");
    CHECK_EQ(parse(WORDS("mount", "--volume=vol-1234abcd", "--path=/srv/a", "--options=ro,subvol=/b"),
                   &options, &diag),
             0);
    CHECK_TEXT(options.path, "/srv/a");
    CHECK_TEXT(options.mount_options, "ro,subvol=/b");
    CHECK_EQ(parse(WORDS("mount", "/dev/sda", "--volume=vol-1234abcd"), &options, &diag), WARMER_USAGE);
    CHECK_TEXT(diag.text, "`warmer mount` finds the device by --volume, and takes no /dev/sda");
    CHECK_EQ(parse(WORDS("unmount"), &options, &diag), WARMER_USAGE);
    CHECK_TEXT(diag.text, "`warmer unmount` needs --volume");
    CHECK_EQ(parse(WORDS("mount", "--volume=vol-1234abcd", "--options=ro,suid"), &options, &diag),
             WARMER_USAGE);
    CHECK_EQ(parse(WORDS("unmount", "--volume=vol-1234abcd", "--path=/a"), &options, &diag), WARMER_USAGE);
}

static void observe_has_limits(void) {
    struct options options;
    struct diag diag;
    CHECK_EQ(parse(WORDS("observe", "d"), &options, &diag), 0);
    CHECK_EQ(options.seconds, 1800);
    CHECK_EQ(options.most_blocks, 131072);
    CHECK_EQ(options.source, SOURCE_AUTO);
    CHECK_TEXT(options.output, "-");
    CHECK_EQ(parse(WORDS("observe", "d", "--seconds=21600", "--most-blocks=1", "--output=r",
                         "--source=events", "--map=m", "--state=s"),
                   &options, &diag),
             0);
    CHECK_EQ(options.seconds, 21600);
    CHECK_EQ(options.most_blocks, 1);
    CHECK_EQ(options.source, SOURCE_EVENTS);
    CHECK_TEXT(options.output, "r");
    CHECK_TEXT(options.map_path, "m");
    CHECK_TEXT(options.state_path, "s");
    CHECK_EQ(parse(WORDS("run", "--action=observe", "--volume=vol-0123456789abcdef0"), &options, &diag), 0);
    CHECK_EQ(options.action, ACTION_OBSERVE);
}

static void help_and_version_need_no_device(void) {
    struct options options;
    struct diag diag;
    CHECK_EQ(parse(WORDS("--help"), &options, &diag), 0);
    CHECK_EQ(options.command, COMMAND_HELP);
    CHECK_EQ(parse(WORDS("--version"), &options, &diag), 0);
    CHECK_EQ(options.command, COMMAND_VERSION);
    CHECK_EQ(parse(WORDS("warm", "--help"), &options, &diag), 0);
    CHECK_EQ(options.command, COMMAND_HELP);
}

/** A command line that is refused, and how. */
struct refusal {
    const char *const words[MAX_WORDS];
    const char *reason;
};

static const struct refusal refusals[] = {
    {{NULL}, "no command: try warmer --help"},
    {{"heat", "d"},
     "unknown command heat: allowed are warm, verify, inspect, apply, extents, observe, run, device-use, "
     "bench, mount and unmount"},
    {{"device-use", "--action=check", "--volume=vol-0123456789abcdef0", "--mount=E:"},
     "--mount only goes with --action=online"},
    {{"warm"}, "which device? `warmer warm DEVICE`"},
    {{"warm", ""}, "the device's name is empty"},
    {{"warm", "a", "b"}, "one device at a time: a and b were given"},
    {{"warm", "d", "--deep", "4"}, "unknown option --deep"},
    {{"warm", "d", "--dep=4"}, "unknown option --dep"},
    {{"warm", "d", "--depth"}, "--depth needs a value: auto or 1 to 1024"},
    {{"warm", "d", "--depth", "0"}, "--depth 0: allowed is auto or 1 to 1024"},
    {{"warm", "d", "--depth", "1025"}, "--depth 1025: allowed is auto or 1 to 1024"},
    {{"warm", "d", "--depth", "-1"}, "--depth -1: allowed is auto or 1 to 1024"},
    {{"warm", "d", "--depth", "4x"}, "--depth 4x: allowed is auto or 1 to 1024"},
    {{"warm", "d", "--depth="}, "--depth : allowed is auto or 1 to 1024"},
    {{"warm", "d", "--max-mib-s", "0"}, "--max-mib-s 0: allowed is a number above 0"},
    {{"warm", "d", "--max-mib-s", "nan"}, "--max-mib-s nan: allowed is a number above 0"},
    {{"warm", "d", "--max-mib-s", "1e9"}, "--max-mib-s 1e9: allowed is a number above 0"},
    {{"warm", "d", "--max-mib-s", "1.2.3"}, "--max-mib-s 1.2.3: allowed is a number above 0"},
    {{"warm", "d", "--polite-latency-ms", "fast"}, "--polite-latency-ms fast: allowed is a number above 0"},
    {{"warm", "d", "--progress", "dots"}, "--progress dots: allowed is bar, json or none"},
    {{"warm", "d", "--engine", "steam"},
     "--engine steam: allowed is auto or an engine that `warmer inspect` lists"},
    {{"warm", "d", "--map", ""}, "--map : allowed is a file or -"},
    {{"warm", "d", "--map", "-", "--first", "-"}, "--map and --first cannot both be standard input"},
    {{"warm", "d", "--scope", "some"}, "--scope some: allowed is written, used or whole"},
    {{"warm", "d", "--scope=whole", "--map", "m"}, "--scope whole takes no --map: it reads every block"},
    {{"warm", "d", "--touch=4"}, "--touch takes no value"},
    {{"warm", "d", "--order=lists,"},
     "--order lists,: allowed is auto, none or some of structures,lists,logs,recent"},
    {{"warm", "d", "--order=lists,lists"},
     "--order lists,lists: allowed is auto, none or some of structures,lists,logs,recent"},
    {{"warm", "d", "--order=list"},
     "--order list: allowed is auto, none or some of structures,lists,logs,recent"},
    {{"warm", "d", "--first-most", "-1"}, "--first-most -1: allowed is 0 to 18446744073709551615"},
    {{"verify", "d", "--first-unlimited"}, "--first-unlimited is not an option of `warmer verify`"},
    {{"extents"}, "which files? `warmer extents FILE...`"},
    {{"extents", "f", "--map", "m"}, "--map is not an option of `warmer extents`"},
    {{"warm", "d", "--samples", "4"}, "--samples is not an option of `warmer warm`"},
    {{"verify", "d", "--depth", "4"}, "--depth is not an option of `warmer verify`"},
    {{"verify", "d", "--samples", "0"}, "--samples 0: allowed is 1 to 10000000"},
    {{"verify", "d", "--max-p99-ms", "-3"}, "--max-p99-ms -3: allowed is a number above 0"},
    {{"verify", "d", "--seed", "18446744073709551616"},
     "--seed 18446744073709551616: allowed is 0 to 18446744073709551615"},
    {{"inspect", "d", "--map", "m"}, "--map is not an option of `warmer inspect`"},
    {{"observe"}, "which device? `warmer observe DEVICE`"},
    {{"observe", "d", "--seconds", "21601"}, "--seconds 21601: allowed is 1 to 21600"},
    {{"observe", "d", "--seconds", "0"}, "--seconds 0: allowed is 1 to 21600"},
    {{"observe", "d", "--most-blocks", "131073"}, "--most-blocks 131073: allowed is 1 to 131072"},
    {{"observe", "d", "--output", ""}, "--output : allowed is a file or -"},
    {{"observe", "d", "--source", "ebpf"}, "--source ebpf: allowed is auto, histogram or events"},
    {{"warm", "d", "--seconds", "1"}, "--seconds is not an option of `warmer warm`"},
    {{"device-use", "--action=observe"},
     "--action observe: allowed is warm, verify, apply or observe, or of device-use check, unmount or "
     "online"},
};

static void wrong_use_is_refused_with_what_is_allowed(void) {
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct options options;
        struct diag diag;
        CHECK_EQ(parse(refusals[i].words, &options, &diag), WARMER_USAGE);
        CHECK_TEXT(diag.text, refusals[i].reason);
    }
}

static void the_help_names_every_option(void) {
    static const char *const names[] = {"--map",
                                        "--first",
                                        "--depth",
                                        "--max-mib-s",
                                        "--state",
                                        "--polite-latency-ms",
                                        "--progress",
                                        "--engine",
                                        "--samples",
                                        "--max-p99-ms",
                                        "--seed",
                                        "--scope",
                                        "--touch",
                                        "--patience-seconds",
                                        "--since",
                                        "--compare",
                                        "--seconds",
                                        "--most-blocks",
                                        "--output",
                                        "--source",
                                        "--first-unlimited",
                                        "--first-most",
                                        "--order"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK(strstr(options_help(), names[i]) != NULL);
    }
}

int main(void) {
    RUN(everything_has_a_default);
    RUN(values_come_after_a_space_or_an_equals_sign);
    RUN(what_a_document_starts_names_everything);
    RUN(extents_takes_any_number_of_files);
    RUN(mount_is_told_the_volume_alone);
    RUN(observe_has_limits);
    RUN(help_and_version_need_no_device);
    RUN(wrong_use_is_refused_with_what_is_allowed);
    RUN(the_help_names_every_option);
    return CHECK_RESULT();
}
