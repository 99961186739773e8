"""From scores to what a person reads: tables, figures, statistics and the report."""
