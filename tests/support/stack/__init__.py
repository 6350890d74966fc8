"""The embedded AWS and the fast lab: started, watched, and what a restore leaves there."""
