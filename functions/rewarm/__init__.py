"""An EBS snapshot becomes a volume at full speed, at the lowest price that meets the deadline, with proof."""
