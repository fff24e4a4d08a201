"""One pod's crash loop, explained from its own status: objects -> statements -> answer. It writes and awaits nothing."""
