"""The main job as a user sees it: restores on the embedded AWS, shown live, measured and proved."""
