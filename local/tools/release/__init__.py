"""`make release`: everything that a release has, in dist/, the same bytes from every clone of a commit.

`versions.py` knows where the version stands, `template.py` makes the template that deploys by one URL,
`files.py` the layers, packages and checksums, `bill.py` the bill of materials, and `terraform.py` the
variables and outputs of the Terraform module.
"""
