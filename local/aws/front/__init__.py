"""AWS's own names in front of the embedded AWS: addresses, certificates, one listener, and who answers."""
