"""The kernel library: Jinja templates and the C++ headers that rendered kernels include."""
