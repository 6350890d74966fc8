"""The ports as AWS provides them; boto3 lives here only."""
