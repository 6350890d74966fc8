"""For who has a clone, and in no package of `rewarm`: what make and the tools of local/ use."""
