"""KernelPlan -> C++ source. Jinja templates lay the file out; spelling of operations is here.

Takes values only: imports neither torch nor config, so golden tests need no device.
"""
