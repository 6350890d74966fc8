"""Which permissions of template.yaml are used, and by what."""
