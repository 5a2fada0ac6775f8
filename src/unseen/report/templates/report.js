const panels = all("[data-experiment]").map(root => new Panel(root));
