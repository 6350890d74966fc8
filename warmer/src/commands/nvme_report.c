#include "commands/nvme_report.h"

#define US_PER_MS 1000.0

static void put_histogram(struct json *json, const char *key, const struct nvme_histogram *histogram) {
    json_open(json, key, '[');
    for (unsigned i = 0; i < histogram->length; i++) {
        json_open(json, NULL, '{');
        json_number(json, "fromMs", (double)histogram->bins[i].lower_us / US_PER_MS);
        json_number(json, "upToMs", (double)histogram->bins[i].upper_us / US_PER_MS);
        json_unsigned(json, "count", histogram->bins[i].count);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void nvme_report_put(struct json *json, const struct nvme_log *log) {
    if (log == NULL) {
        json_null(json, "nvmeStatistics");
        return;
    }
    json_open(json, "nvmeStatistics", '{');
    json_unsigned(json, "readOperations", log->read_operations);
    json_unsigned(json, "writeOperations", log->write_operations);
    json_unsigned(json, "readBytes", log->read_bytes);
    json_unsigned(json, "writeBytes", log->write_bytes);
    json_number(json, "readSeconds", (double)log->read_us / 1e6);
    json_number(json, "writeSeconds", (double)log->write_us / 1e6);
    json_number(json, "volumeIopsExceededSeconds", (double)log->volume_iops_exceeded_us / 1e6);
    json_number(json, "volumeThroughputExceededSeconds", (double)log->volume_throughput_exceeded_us / 1e6);
    json_number(json, "instanceIopsExceededSeconds", (double)log->instance_iops_exceeded_us / 1e6);
    json_number(json, "instanceThroughputExceededSeconds",
                (double)log->instance_throughput_exceeded_us / 1e6);
    json_unsigned(json, "queueLength", log->queue_length);
    put_histogram(json, "readLatency", &log->reads);
    put_histogram(json, "writeLatency", &log->writes);
    json_close(json, '}');
}
