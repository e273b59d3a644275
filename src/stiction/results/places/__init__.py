"""Where results go: who may write there, what lies there, how it gets there in one step."""
