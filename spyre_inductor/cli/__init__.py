"""The spyre-inductor command: look at the kernel cache and at this installation."""
