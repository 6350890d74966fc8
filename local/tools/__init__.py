"""The commands of the Makefile: run, plan, bench, scale and measurements."""
