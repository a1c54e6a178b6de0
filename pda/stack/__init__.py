"""Stack frames and configurations, their closure under calls and returns, and steps by bytes and tokens."""
