"""Pictures as SVG, with matplotlib from a layer of its own (template.yaml, ChartsLayer): import to draw."""
