"""What an account has beside EBS: prices, quotas, metrics, an event history, tags."""
