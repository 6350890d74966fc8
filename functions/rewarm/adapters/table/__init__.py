"""What is kept in the one DynamoDB table."""
