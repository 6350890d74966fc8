"""Good plans of many volumes that share instances, snapshots and quotas, and bounds on the price of any."""
