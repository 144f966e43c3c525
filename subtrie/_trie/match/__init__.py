"""Who is subscribed to a topic, at one instant: questions, the two passes that answer them, and remembered answers."""
