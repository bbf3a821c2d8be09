"""FX passes of the spyre device; `graph_pass.SpyreGraphPass` runs them after Inductor's own."""
