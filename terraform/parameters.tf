# `make terraform` writes this file from template.yaml.

locals {
  parameters = {
    CodeBucket             = var.code_bucket
    CodeBucketPerRegion    = var.code_bucket_per_region
    CodePrefix             = var.code_prefix
    SlackWebhookUrl        = var.slack_webhook_url
    NotificationEmail      = var.notification_email
    AlarmNamePrefix        = var.alarm_name_prefix
    AlarmCooldownMinutes   = tostring(var.alarm_cooldown_minutes)
    MaxRestoresPerInstance = tostring(var.max_restores_per_instance)
    MaxRestoresInFlight    = tostring(var.max_restores_in_flight)
    DescribeCallsPerSecond = tostring(var.describe_calls_per_second)
    ModificationRule       = var.modification_rule
    LogRetentionDays       = tostring(var.log_retention_days)
    LogLevel               = var.log_level
    PriceOverrides         = var.price_overrides
    PermissionsBoundaryArn = var.permissions_boundary_arn
  }
}
