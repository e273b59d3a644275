"""Where two switching surfaces meet: which ways lead on, and how long staying is the only one."""
