"""What is asked and promised, what is sent, and how a survey ends; no sockets, no clock."""
