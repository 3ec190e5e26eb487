"""What an exported model of each kind answers: in its graph, and by the Python path."""
