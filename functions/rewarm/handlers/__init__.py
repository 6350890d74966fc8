"""One AWS Lambda handler per step: parse the event, call the step, return its result."""
