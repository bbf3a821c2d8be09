"""The waist of the compiler: kernel plans and launch plans as frozen data, JSON in and out.

Imports the standard library only, so that golden tests, cache tests and the CLI need no torch.
"""
