"""Stack frames and configurations: closure under calls and returns, and the step by a byte or token."""
