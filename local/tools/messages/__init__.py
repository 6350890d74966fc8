"""Pictures of Slack's messages, drawn from what the product sends in the fast lab."""
