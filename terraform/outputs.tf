# `make terraform` writes this file from template.yaml.

output "version" {
  description = "The version of Rewarm that this stack runs."
  value       = aws_cloudformation_stack.rewarm.outputs["Version"]
}

output "api_url" {
  description = "Where to POST /restores (signed with IAM credentials)."
  value       = aws_cloudformation_stack.rewarm.outputs["ApiUrl"]
}

output "jwt_api_url" {
  description = "Base URL of the API for callers with a JSON Web Token."
  value       = lookup(aws_cloudformation_stack.rewarm.outputs, "JwtApiUrl", null)
}

output "rest_api_id" {
  description = "Id of the REST API."
  value       = aws_cloudformation_stack.rewarm.outputs["RestApiId"]
}

output "pages_url" {
  description = "The API without IAM's signatures, which opens the pages that messages link."
  value       = lookup(aws_cloudformation_stack.rewarm.outputs, "PagesUrl", null)
}

output "slack_interactions_url" {
  description = "The request URL of the Slack app, under Interactivity."
  value       = lookup(aws_cloudformation_stack.rewarm.outputs, "SlackInteractionsUrl", null)
}

output "restore_state_machine_arn" {
  description = "The state machine that restores; the target of schedules."
  value       = aws_cloudformation_stack.rewarm.outputs["RestoreStateMachineArn"]
}

output "restore_volume_state_machine_arn" {
  description = "The state machine of one volume."
  value       = aws_cloudformation_stack.rewarm.outputs["RestoreVolumeStateMachineArn"]
}

output "fleet_state_machine_arn" {
  description = "The state machine of a fleet."
  value       = lookup(aws_cloudformation_stack.rewarm.outputs, "FleetStateMachineArn", null)
}

output "change_performance_state_machine_arn" {
  description = "The state machine of a change of performance."
  value       = lookup(aws_cloudformation_stack.rewarm.outputs, "ChangePerformanceStateMachineArn", null)
}

output "log_group_name" {
  description = "The log group of all functions."
  value       = aws_cloudformation_stack.rewarm.outputs["LogGroupName"]
}

output "dashboard_name" {
  description = "The CloudWatch dashboard."
  value       = aws_cloudformation_stack.rewarm.outputs["DashboardName"]
}

output "sweep_function_name" {
  description = "The function that ends what still costs money."
  value       = aws_cloudformation_stack.rewarm.outputs["SweepFunctionName"]
}

output "artifacts_bucket" {
  description = "Agent binaries, block maps, progress and reports."
  value       = aws_cloudformation_stack.rewarm.outputs["ArtifactsBucket"]
}

output "restores_table" {
  description = "Restores and runbooks."
  value       = aws_cloudformation_stack.rewarm.outputs["RestoresTable"]
}

output "idempotency_table" {
  description = "Idempotency keys of the API."
  value       = aws_cloudformation_stack.rewarm.outputs["IdempotencyTable"]
}

output "notification_topic_arn" {
  description = "Plain messages, for e-mail and programs."
  value       = aws_cloudformation_stack.rewarm.outputs["NotificationTopicArn"]
}

output "chat_topic_arn" {
  description = "Messages in the schema of Amazon Q Developer in chat applications."
  value       = aws_cloudformation_stack.rewarm.outputs["ChatTopicArn"]
}

output "event_bus_name" {
  description = "Event bus with Rewarm's own events (source rewarm)."
  value       = aws_cloudformation_stack.rewarm.outputs["EventBusName"]
}

output "warmer_document_name" {
  description = "The SSM document that runs the warm-up agent on Linux."
  value       = aws_cloudformation_stack.rewarm.outputs["WarmerDocumentName"]
}

output "warmer_windows_document_name" {
  description = "The SSM document that runs the warm-up agent on Windows."
  value       = aws_cloudformation_stack.rewarm.outputs["WarmerWindowsDocumentName"]
}

output "calibration_document_name" {
  description = "What `rewarm calibrate` sends."
  value       = lookup(aws_cloudformation_stack.rewarm.outputs, "CalibrationDocumentName", null)
}

output "drills_role_arn" {
  description = "Role for EventBridge Scheduler to start restores with."
  value       = aws_cloudformation_stack.rewarm.outputs["DrillsRoleArn"]
}

output "drills_dead_letter_queue_arn" {
  description = "Dead-letter queue for such schedules."
  value       = aws_cloudformation_stack.rewarm.outputs["DrillsDeadLetterQueueArn"]
}

output "alarm_events_dead_letter_queue_url" {
  description = "Alarm events that could not start a restore."
  value       = aws_cloudformation_stack.rewarm.outputs["AlarmEventsDeadLetterQueueUrl"]
}

output "alarm_rule_name" {
  description = "The EventBridge rule that starts restores for alarms; `aws events disable-rule` stops that."
  value       = aws_cloudformation_stack.rewarm.outputs["AlarmRuleName"]
}
