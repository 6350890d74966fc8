"""How long things take: shipped priors, measurements of this account, and their quantiles."""
