# The stack, from the files of a release in a bucket of yours (docs/accounts.md).

locals {
  release = "0.1.0"
  bucket  = var.code_bucket_per_region == "yes" ? "${var.code_bucket}-${data.aws_region.current.name}" : var.code_bucket
  host    = "${local.bucket}.s3.${data.aws_region.current.name}.${data.aws_partition.current.dns_suffix}"
}

data "aws_region" "current" {}

data "aws_partition" "current" {}

variable "stack_name" {
  description = "Name of the CloudFormation stack; `rewarm` finds the stack by it."
  type        = string
  default     = "rewarm"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9-]{0,127}$", var.stack_name))
    error_message = "It must be 1 to 128 letters, digits and hyphens, and begin with a letter."
  }
}

variable "tags" {
  description = "Tags of the stack, which CloudFormation copies to what it makes."
  type        = map(string)
  default     = { application = "rewarm" }
  nullable    = false
}

resource "aws_cloudformation_stack" "rewarm" {
  name         = var.stack_name
  template_url = "https://${local.host}/${var.code_prefix}rewarm-${local.release}.yaml"
  parameters   = local.parameters
  capabilities = ["CAPABILITY_IAM"]
  tags         = var.tags

  # Deleting the stack ends its restores first, which may take 20 minutes.
  timeouts {
    create = "30m"
    update = "60m"
    delete = "60m"
  }
}
