"""The instance, and the way from it to S3 and Systems Manager."""
