# `make terraform` writes this file from template.yaml.

variable "code_bucket" {
  description = "The bucket with the files of the release. It must be in the Region of the stack."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.code_bucket))
    error_message = "It must match ^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$."
  }
}

variable "code_bucket_per_region" {
  description = "Whether each Region has a bucket of its own, named CodeBucket, a hyphen and the Region. Then the same parameters do for every Region."
  type        = string
  default     = "no"
  nullable    = false

  validation {
    condition     = contains(["no", "yes"], var.code_bucket_per_region)
    error_message = "It must be one of no, yes."
  }
}

variable "code_prefix" {
  description = "What the keys of the files begin with: empty, or a folder with a slash at its end."
  type        = string
  default     = "rewarm-0.1.0/"
  nullable    = false

  validation {
    condition     = can(regex("^([A-Za-z0-9._/-]+/)?$", var.code_prefix))
    error_message = "It must match ^([A-Za-z0-9._/-]+/)?$."
  }
}

variable "slack_webhook_url" {
  description = "Incoming webhook of a Slack channel; empty for none. It is kept in Secrets Manager."
  type        = string
  default     = ""
  sensitive   = true
  nullable    = false

  validation {
    condition     = can(regex("^(https?://[^\\s]+)?$", var.slack_webhook_url))
    error_message = "It must match ^(https?://[^\\s]+)?$."
  }
}

variable "slack_bot_token" {
  description = "Token of a Slack app's bot, xoxb-\u2026; empty for none. With it and SlackChannel there is one message for each restore, kept up to date, with a thread. It is kept in Secrets Manager."
  type        = string
  default     = ""
  sensitive   = true
  nullable    = false

  validation {
    condition     = can(regex("^(xox[a-z]-[A-Za-z0-9-]+)?$", var.slack_bot_token))
    error_message = "It must match ^(xox[a-z]-[A-Za-z0-9-]+)?$."
  }
}

variable "slack_channel" {
  description = "Id of the channel in which the bot posts, C\u2026 or G\u2026; empty for none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = length(var.slack_channel) <= 32
    error_message = "It must have at most 32 characters."
  }

  validation {
    condition     = can(regex("^([CDG][A-Z0-9]{1,31})?$", var.slack_channel))
    error_message = "It must match ^([CDG][A-Z0-9]{1,31})?$."
  }
}

variable "slack_signing_secret" {
  description = "Signing secret of the Slack app; empty for messages without the buttons Approve and Cancel. It is kept in Secrets Manager, and does nothing without PublicPages."
  type        = string
  default     = ""
  sensitive   = true
  nullable    = false

  validation {
    condition     = can(regex("^([0-9a-f]{16,64})?$", var.slack_signing_secret))
    error_message = "It must match ^([0-9a-f]{16,64})?$."
  }
}

variable "slack_team_id" {
  description = "Id of the Slack workspace whose people may press buttons, T\u2026; empty for any that has the app."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = length(var.slack_team_id) <= 32
    error_message = "It must have at most 32 characters."
  }

  validation {
    condition     = can(regex("^(T[A-Z0-9]{1,31})?$", var.slack_team_id))
    error_message = "It must match ^(T[A-Z0-9]{1,31})?$."
  }
}

variable "slack_approvers" {
  description = "Ids of the Slack users who may press Approve and Cancel, U\u2026 or W\u2026, with commas between them; empty for everybody in the channel."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = length(var.slack_approvers) <= 255
    error_message = "It must have at most 255 characters."
  }

  validation {
    condition     = can(regex("^([UW][A-Z0-9]{1,31}(,[UW][A-Z0-9]{1,31})*)?$", var.slack_approvers))
    error_message = "It must match ^([UW][A-Z0-9]{1,31}(,[UW][A-Z0-9]{1,31})*)?$."
  }
}

variable "notification_email" {
  description = "Address that gets every message by e-mail; empty for none. AWS sends a confirmation first."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^([^@\\s]+@[^@\\s]+)?$", var.notification_email))
    error_message = "It must match ^([^@\\s]+@[^@\\s]+)?$."
  }
}

variable "alarm_name_prefix" {
  description = "Alarms whose names begin with this start a restore (each needs a runbook, PUT /runbooks/{alarmName}). Each stack of an account and Region needs a different prefix. CloudFormation refuses a second one, so no alarm starts two restores."
  type        = string
  default     = "rewarm-"
  nullable    = false

  validation {
    condition     = length(var.alarm_name_prefix) <= 50
    error_message = "It must have at most 50 characters."
  }

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_.-]*$", var.alarm_name_prefix)) && !can(regex("^(operations-of-|(o|op|ope|oper|opera|operat|operati|operatio|operation|operations|operations-|operations-o|operations-of)$)", var.alarm_name_prefix))
    error_message = "It must be 1 to 50 letters, digits, dots, hyphens and underscores. It must not match the stack's own alarms, whose names begin with operations-of-."
  }
}

variable "alarm_accounts" {
  description = "Ids of the accounts whose alarms start restores, with commas between them; empty for this account alone. Their alarms must be of this Region."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = length(var.alarm_accounts) <= 259
    error_message = "It must have at most 259 characters."
  }

  validation {
    condition     = can(regex("^(\\d{12}(,\\d{12})*)?$", var.alarm_accounts))
    error_message = "It must match ^(\\d{12}(,\\d{12})*)?$."
  }
}

variable "alarm_cooldown_minutes" {
  description = "For so many minutes after a restore, and while it runs, its alarm starts no other one. A runbook may set its own value (alarmCooldownMinutes)."
  type        = number
  default     = 60
  nullable    = false

  validation {
    condition     = var.alarm_cooldown_minutes >= 0 && var.alarm_cooldown_minutes <= 10080
    error_message = "It must be 0 to 10080."
  }
}

variable "jwt_issuer" {
  description = "Address of an OpenID Connect issuer whose tokens (JSON Web Tokens) callers may send instead of a signature; empty for none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(https://[^\\s]+)?$", var.jwt_issuer))
    error_message = "It must match ^(https://[^\\s]+)?$."
  }
}

variable "jwt_audience" {
  description = "Audiences (`aud`, or else `client_id`) of these tokens, with commas between them; needed with JwtIssuer."
  type        = string
  default     = ""
  nullable    = false
}

variable "jwt_scope_prefix" {
  description = "What the scopes of these tokens begin with. The scope read allows looking and planning, write everything but approving, and approve only approving."
  type        = string
  default     = "rewarm/"
  nullable    = false

  validation {
    condition     = can(regex("^[!-~]*$", var.jwt_scope_prefix))
    error_message = "It must match ^[!-~]*$."
  }
}

variable "public_pages" {
  description = "Pages that messages link, and Slack's buttons, in an API that everybody can call."
  type        = string
  default     = "yes"
  nullable    = false

  validation {
    condition     = contains(["yes", "no"], var.public_pages)
    error_message = "It must be one of yes, no."
  }
}

variable "applications" {
  description = "What restores run on the instance to bring its application back (after)."
  type        = string
  default     = "yes"
  nullable    = false

  validation {
    condition     = contains(["yes", "no"], var.applications)
    error_message = "It must be one of yes, no."
  }
}

variable "instance_starts" {
  description = "Restores that start a stopped instance with its new volumes (target.start)."
  type        = string
  default     = "yes"
  nullable    = false

  validation {
    condition     = contains(["yes", "no"], var.instance_starts)
    error_message = "It must be one of yes, no."
  }
}

variable "fleets" {
  description = "Restores of many volumes in one request."
  type        = string
  default     = "no"
  nullable    = false

  validation {
    condition     = contains(["yes", "no"], var.fleets)
    error_message = "It must be one of yes, no."
  }
}

variable "drills" {
  description = "Restores that prove how fast a runbook is, and delete what they made."
  type        = string
  default     = "no"
  nullable    = false

  validation {
    condition     = contains(["yes", "no"], var.drills)
    error_message = "It must be one of yes, no."
  }
}

variable "rewinds" {
  description = "Rewinds and the strategy direct-write, by an agent that writes blocks."
  type        = string
  default     = "no"
  nullable    = false

  validation {
    condition     = contains(["yes", "no"], var.rewinds)
    error_message = "It must be one of yes, no."
  }
}

variable "performance_changes" {
  description = "Changes of a volume's type, IOPS and throughput."
  type        = string
  default     = "no"
  nullable    = false

  validation {
    condition     = contains(["yes", "no"], var.performance_changes)
    error_message = "It must be one of yes, no."
  }
}

variable "calibration" {
  description = "The document by which `rewarm calibrate` measures what AWS does not document."
  type        = string
  default     = "no"
  nullable    = false

  validation {
    condition     = contains(["yes", "no"], var.calibration)
    error_message = "It must be one of yes, no."
  }
}

variable "restore_testing" {
  description = "Verdicts on the restore tests of EBS volumes that AWS Backup makes."
  type        = string
  default     = "no"
  nullable    = false

  validation {
    condition     = contains(["yes", "no"], var.restore_testing)
    error_message = "It must be one of yes, no."
  }
}

variable "restore_testing_minutes" {
  description = "After so many minutes a restore test is TIMED_OUT. Keep it below the time that AWS Backup gives the validation."
  type        = number
  default     = 240
  nullable    = false

  validation {
    condition     = var.restore_testing_minutes >= 10 && var.restore_testing_minutes <= 10080
    error_message = "It must be 10 to 10080."
  }
}

variable "max_restores_per_instance" {
  description = "How many restores may work on one instance at the same time."
  type        = number
  default     = 10
  nullable    = false

  validation {
    condition     = var.max_restores_per_instance >= 1 && var.max_restores_per_instance <= 100
    error_message = "It must be 1 to 100."
  }
}

variable "max_restores_in_flight" {
  description = "How many restores of this stack may run at the same time. Beyond it POST /restores answers 429, and restores that alarms and schedules start wait."
  type        = number
  default     = 2000
  nullable    = false

  validation {
    condition     = var.max_restores_in_flight >= 1 && var.max_restores_in_flight <= 10000
    error_message = "It must be 1 to 10000."
  }
}

variable "describe_calls_per_second" {
  description = "How many describe calls a second all restores together may make. EC2 answers 20 a second to an account in a Region, after a first 100. The default leaves one to others. Restores beyond it begin later, one after the other."
  type        = number
  default     = 19
  nullable    = false

  validation {
    condition     = var.describe_calls_per_second >= 1 && var.describe_calls_per_second <= 1000
    error_message = "It must be 1 to 1000."
  }
}

variable "modification_rule" {
  description = "How often EC2 lets a volume be modified: four times in 24 hours, or, as some partitions still have it, once in six hours."
  type        = string
  default     = "4-in-24-h"
  nullable    = false

  validation {
    condition     = contains(["4-in-24-h", "6-h"], var.modification_rule)
    error_message = "It must be one of 4-in-24-h, 6-h."
  }
}

variable "log_retention_days" {
  description = "Days that logs are kept."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "It must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653."
  }
}

variable "api_logs_role" {
  description = "Which role writes REST APIs' access logs in this account and Region, one that the stack sets or the one that is set."
  type        = string
  default     = "stack"
  nullable    = false

  validation {
    condition     = contains(["stack", "account"], var.api_logs_role)
    error_message = "It must be one of stack, account."
  }
}

variable "undo_log_days" {
  description = "Days that S3 keeps a rewind's undo log, which holds the blocks that the rewind overwrote."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = var.undo_log_days >= 1 && var.undo_log_days <= 3650
    error_message = "It must be 1 to 3650."
  }
}

variable "log_level" {
  description = "What the functions log. Metrics are written at every level."
  type        = string
  default     = "INFO"
  nullable    = false

  validation {
    condition     = contains(["DEBUG", "INFO", "WARNING", "ERROR"], var.log_level)
    error_message = "It must be one of DEBUG, INFO, WARNING, ERROR."
  }
}

variable "price_overrides" {
  description = "Your own prices, as a JSON object with the keys of functions/rewarm/prices.json; empty for none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = length(var.price_overrides) <= 640
    error_message = "It must have at most 640 characters."
  }
}

variable "data_key_arn" {
  description = "KMS key that encrypts the artifacts bucket and both tables; empty for S3's own key and AWS's key for DynamoDB. Its policy must let the account use it through S3 and DynamoDB (docs/scanners.md)."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(arn:aws(-cn|-us-gov)?:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]{1,64})?$", var.data_key_arn))
    error_message = "It must be the ARN of a KMS key, not of an alias."
  }
}

variable "access_log_bucket" {
  description = "Bucket of this Region that gets S3's access logs of the artifacts bucket; empty for none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?$", var.access_log_bucket))
    error_message = "It must match ^([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?$."
  }
}

variable "keep_overwritten_days" {
  description = "Days that S3 keeps objects that were overwritten or deleted; 0 for not at all. With it, data of snapshots is deleted up to two days later (docs/scanners.md)."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.keep_overwritten_days >= 0 && var.keep_overwritten_days <= 365
    error_message = "It must be 0 to 365."
  }
}

variable "public_concurrency" {
  description = "How many calls of the API that everybody can call may run at once, taken from the account's concurrency; 0 for no limit of its own."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.public_concurrency >= 0 && var.public_concurrency <= 100
    error_message = "It must be 0 to 100."
  }
}

variable "permissions_boundary_arn" {
  description = "The policy that limits what the stack's roles may do, as their permissions boundary; empty for none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(arn:aws(-cn|-us-gov)?:iam::([0-9]{12}|aws):policy/[A-Za-z0-9+=,.@_/-]{1,640})?$", var.permissions_boundary_arn))
    error_message = "It must be the ARN of a managed policy, as IAM shows it."
  }
}
