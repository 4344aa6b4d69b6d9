"""Files -> schema, with good errors; and which files."""
