"""Two runs compared, and many runs side by side: results in, what differs out. Pure: no clock, no files, no network."""
