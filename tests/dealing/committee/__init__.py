"""A committee that deals: its protocol in memory and over sockets, and as processes."""
