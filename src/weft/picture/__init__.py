"""Pictures as a source: a picture is a sequence of columns of grey levels."""
