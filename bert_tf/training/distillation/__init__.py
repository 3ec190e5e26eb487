"""A student that learns from a teacher: its initial layers, the teacher's answers, the losses."""
