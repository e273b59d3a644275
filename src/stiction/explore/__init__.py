"""A local web page to change scenarios by sliders, run them, view and save the results.

`session` answers the requests of a page, `hub` owns the worker process that solves, and `server`
connects them by the optional package Panel. The command `stiction explore` imports them.
"""
