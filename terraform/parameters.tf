# `make terraform` writes this file from template.yaml.

locals {
  parameters = {
    CodeBucket             = var.code_bucket
    CodeBucketPerRegion    = var.code_bucket_per_region
    CodePrefix             = var.code_prefix
    SlackWebhookUrl        = var.slack_webhook_url
    SlackBotToken          = var.slack_bot_token
    SlackChannel           = var.slack_channel
    SlackSigningSecret     = var.slack_signing_secret
    SlackTeamId            = var.slack_team_id
    SlackApprovers         = var.slack_approvers
    NotificationEmail      = var.notification_email
    AlarmNamePrefix        = var.alarm_name_prefix
    AlarmAccounts          = var.alarm_accounts
    AlarmCooldownMinutes   = tostring(var.alarm_cooldown_minutes)
    JwtIssuer              = var.jwt_issuer
    JwtAudience            = var.jwt_audience
    JwtScopePrefix         = var.jwt_scope_prefix
    PublicPages            = var.public_pages
    Applications           = var.applications
    InstanceStarts         = var.instance_starts
    Fleets                 = var.fleets
    Drills                 = var.drills
    Rewinds                = var.rewinds
    PerformanceChanges     = var.performance_changes
    Calibration            = var.calibration
    RestoreTesting         = var.restore_testing
    RestoreTestingMinutes  = tostring(var.restore_testing_minutes)
    MaxRestoresPerInstance = tostring(var.max_restores_per_instance)
    MaxRestoresInFlight    = tostring(var.max_restores_in_flight)
    DescribeCallsPerSecond = tostring(var.describe_calls_per_second)
    ModificationRule       = var.modification_rule
    LogRetentionDays       = tostring(var.log_retention_days)
    ApiLogsRole            = var.api_logs_role
    UndoLogDays            = tostring(var.undo_log_days)
    LogLevel               = var.log_level
    PriceOverrides         = var.price_overrides
    DataKeyArn             = var.data_key_arn
    AccessLogBucket        = var.access_log_bucket
    KeepOverwrittenDays    = tostring(var.keep_overwritten_days)
    PublicConcurrency      = tostring(var.public_concurrency)
    PermissionsBoundaryArn = var.permissions_boundary_arn
  }
}
