"""Which permissions CloudFormation needs to make, change and delete a resource, by its registry.

The registry has a schema for each type of resource, and cfn-lint carries them. A schema says which
permissions each of the type's handlers needs.
"""

from __future__ import annotations

import json

from local.aws.permissions import reference
from tests.contract.repository import Json

KMS = {"CreateGrant", "Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey", "ListAliases", "RevokeGrant"}
ITEMS = {"Scan", "Query", "UpdateItem", "PutItem", "GetItem", "DeleteItem", "BatchWriteItem"}
UNUSED: dict[tuple[str, str], set[str]] = {
    ("AWS::ApiGateway::RestApi", "BodyS3Location"): {"s3:GetObject"},
    ("AWS::ApiGateway::RestApi", "Policy"): {"apigateway:UpdateRestApiPolicy"},
    # An HTTP API may be made from an OpenAPI file, too.
    ("AWS::ApiGatewayV2::Api", "BodyS3Location"): {"s3:getObject"},
    ("AWS::DynamoDB::Table", "ImportSourceSpecification"): {
        "dynamodb:DescribeImport", "dynamodb:ImportTable", "logs:CreateLogGroup", "logs:CreateLogStream",
        "logs:DescribeLogGroups", "logs:DescribeLogStreams", "logs:PutLogEvents", "logs:PutRetentionPolicy",
        "s3:GetObject", "s3:ListBucket",
    },
    ("AWS::DynamoDB::Table", "KinesisStreamSpecification"): {
        *(f"dynamodb:{verb}KinesisStreamingDestination" for verb in ("Enable", "Disable", "Update")),
        "kinesis:DescribeStream", "kinesis:PutRecords",
    },
    ("AWS::DynamoDB::Table", "ContributorInsightsSpecification"): {"dynamodb:UpdateContributorInsights"},
    ("AWS::DynamoDB::Table", "KMSMasterKeyId"): {f"kms:{name}" for name in KMS},
    ("AWS::DynamoDB::Table", "ResourcePolicy"): {
        "dynamodb:PutResourcePolicy", "dynamodb:DeleteResourcePolicy",
    },
    # Copies of a table in other Regions; this type has no property for them at all.
    ("AWS::DynamoDB::Table", "Replicas"): {
        "dynamodb:CreateTableReplica", "dynamodb:AssociateTableReplica", "iam:CreateServiceLinkedRole",
        *(f"dynamodb:{name}" for name in ITEMS),
    },
    ("AWS::IAM::ManagedPolicy", "Groups"): {"iam:AttachGroupPolicy", "iam:DetachGroupPolicy"},
    ("AWS::IAM::ManagedPolicy", "Users"): {"iam:AttachUserPolicy", "iam:DetachUserPolicy"},
    ("AWS::IAM::Policy", "Groups"): {"iam:PutGroupPolicy", "iam:GetGroupPolicy", "iam:DeleteGroupPolicy"},
    ("AWS::IAM::Policy", "Users"): {"iam:PutUserPolicy", "iam:GetUserPolicy", "iam:DeleteUserPolicy"},
    ("AWS::Lambda::Function", "CapacityProviderConfig"): {"lambda:PassCapacityProvider"},
    ("AWS::Lambda::Function", "CodeSigningConfigArn"): {
        "lambda:GetCodeSigningConfig", "lambda:PutFunctionCodeSigningConfig",
        "lambda:DeleteFunctionCodeSigningConfig",
    },
    ("AWS::Lambda::Function", "FileSystemConfigs"): {"elasticfilesystem:DescribeMountTargets"},
    ("AWS::Lambda::Function", "FunctionScalingConfig"): {"lambda:PutFunctionScalingConfig"},
    ("AWS::Lambda::Function", "KmsKeyArn"): {f"kms:{name}" for name in KMS},
    ("AWS::Lambda::Function", "PublishToLatestPublished"): {"lambda:PublishVersion"},
    ("AWS::Lambda::Function", "RecursiveLoop"): {"lambda:PutFunctionRecursionConfig"},
    ("AWS::Lambda::Function", "ReservedConcurrentExecutions"): {
        "lambda:PutFunctionConcurrency", "lambda:DeleteFunctionConcurrency",
    },
    ("AWS::Lambda::Function", "RuntimeManagementConfig"): {"lambda:PutRuntimeManagementConfig"},
    ("AWS::Lambda::Function", "VpcConfig"): {
        "ec2:DescribeNetworkInterfaces", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets",
        "ec2:DescribeVpcs",
    },
    ("AWS::Logs::LogGroup", "BearerTokenAuthenticationEnabled"): {"logs:PutBearerTokenAuthentication"},
    ("AWS::Logs::LogGroup", "DataProtectionPolicy"): {
        "firehose:TagDeliveryStream", "logs:CreateLogDelivery", "logs:PutDataProtectionPolicy",
    },
    ("AWS::Logs::LogGroup", "DeletionProtectionEnabled"): {"logs:PutLogGroupDeletionProtection"},
    ("AWS::Logs::LogGroup", "FieldIndexPolicies"): {"logs:PutIndexPolicy", "logs:DeleteIndexPolicy"},
    ("AWS::Logs::LogGroup", "KmsKeyId"): {"logs:AssociateKmsKey", "logs:DisassociateKmsKey"},
    ("AWS::Logs::LogGroup", "ResourcePolicyDocument"): {
        "logs:PutResourcePolicy", "logs:DeleteResourcePolicy",
    },
    ("AWS::S3::Bucket", "AbacStatus"): {"s3:PutBucketAbac"},
    ("AWS::S3::Bucket", "AccelerateConfiguration"): {"s3:PutAccelerateConfiguration"},
    ("AWS::S3::Bucket", "AccessControl"): {"s3:PutBucketAcl", "s3:PutObjectAcl"},
    ("AWS::S3::Bucket", "AnalyticsConfigurations"): {"s3:PutAnalyticsConfiguration"},
    ("AWS::S3::Bucket", "CorsConfiguration"): {"s3:PutBucketCORS"},
    ("AWS::S3::Bucket", "IntelligentTieringConfigurations"): {"s3:PutIntelligentTieringConfiguration"},
    ("AWS::S3::Bucket", "InventoryConfigurations"): {"s3:PutInventoryConfiguration"},
    ("AWS::S3::Bucket", "LoggingConfiguration"): {"s3:PutBucketLogging"},
    ("AWS::S3::Bucket", "MetadataConfiguration"): {
        "s3:CreateBucketMetadataTableConfiguration", "s3:DeleteBucketMetadataTableConfiguration",
        "s3:UpdateBucketMetadataInventoryTableConfiguration",
        "s3:UpdateBucketMetadataJournalTableConfiguration",
        "s3tables:CreateNamespace", "s3tables:CreateTable", "s3tables:CreateTableBucket",
        "s3tables:GetTable", "s3tables:GetTableMetadataLocation", "s3tables:PutTableBucketPolicy",
        "s3tables:PutTableEncryption", "s3tables:PutTablePolicy", "s3tables:UpdateTableMetadataLocation",
    },
    ("AWS::S3::Bucket", "MetricsConfigurations"): {"s3:PutMetricsConfiguration"},
    ("AWS::S3::Bucket", "NotificationConfiguration"): {"s3:PutBucketNotification"},
    ("AWS::S3::Bucket", "ObjectLockConfiguration"): {"s3:PutBucketObjectLockConfiguration"},
    ("AWS::S3::Bucket", "ReplicationConfiguration"): {
        "iam:PassRole", "s3:DeleteObject", "s3:PutReplicationConfiguration",
    },
    ("AWS::S3::Bucket", "VersioningConfiguration"): {"s3:PutBucketVersioning"},
    ("AWS::S3::Bucket", "WebsiteConfiguration"): {"s3:PutBucketWebsite", "s3:DeleteBucketWebsite"},
    ("AWS::SNS::Topic", "DataProtectionPolicy"): {"sns:PutDataProtectionPolicy"},
    ("AWS::SecretsManager::Secret", "GenerateSecretString"): {"secretsmanager:GetRandomPassword"},
    ("AWS::SecretsManager::Secret", "ReplicaRegions"): {
        "secretsmanager:ReplicateSecretToRegions", "secretsmanager:RemoveRegionsFromReplication",
    },
    ("AWS::StepFunctions::StateMachine", "EncryptionConfiguration"): {f"kms:{name}" for name in KMS},
}  # fmt: skip
"""(type, property) -> what the handlers need for that property alone, where no resource has it."""


def handled(kind: str) -> set[str]:
    """Every permission that the handlers of a type need; names that AWS does not know are left out."""
    from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # noqa: PLC0415  # a second, for one worker's tests

    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema
    found = set(schema.get("tagging", {}).get("permissions", []))
    for handler in ("create", "read", "update", "delete"):
        found |= set(schema.get("handlers", {}).get(handler, {}).get("permissions", []))
    return {name for name in found if reference.action(name) is not None}


def unused_permissions(kind: str, properties: Json) -> set[str]:
    """What the handlers of a type need only for properties that this resource does not have."""
    text = json.dumps(properties)
    return {
        action
        for (owner, name), actions in UNUSED.items()
        if owner == kind and f'"{name}"' not in text
        for action in actions
    }
