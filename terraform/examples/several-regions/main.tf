# One stack for each Region. The release is in the buckets acme-rewarm-eu-central-1 and acme-rewarm-us-east-1.

terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

provider "aws" {
  region = "eu-central-1"
}

provider "aws" {
  alias  = "virginia"
  region = "us-east-1"
}

variable "slack_webhook_url" {
  description = "Incoming webhook of the channel for both Regions."
  type        = string
  default     = ""
  sensitive   = true
}

module "rewarm_frankfurt" {
  source = "../.."

  code_bucket            = "acme-rewarm"
  code_bucket_per_region = "yes"
  slack_webhook_url      = var.slack_webhook_url
}

module "rewarm_virginia" {
  source    = "../.."
  providers = { aws = aws.virginia }

  code_bucket            = "acme-rewarm"
  code_bucket_per_region = "yes"
  slack_webhook_url      = var.slack_webhook_url
  max_restores_in_flight = 500
}

output "api_urls" {
  description = "Where each Region's API is."
  value = {
    eu-central-1 = module.rewarm_frankfurt.api_url
    us-east-1    = module.rewarm_virginia.api_url
  }
}
