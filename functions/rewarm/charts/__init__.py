"""Pictures as SVG. matplotlib comes in its own Lambda layer (template.yaml, ChartsLayer)."""
