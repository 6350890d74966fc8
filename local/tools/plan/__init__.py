"""`make plan`: what a restore would take and cost, with the real rules and without an AWS account."""
