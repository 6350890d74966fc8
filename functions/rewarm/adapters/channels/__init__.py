"""How people are reached: Slack, SNS and EventBridge."""
