// ---- the page of one curve: an explorer alone ----

const panels = all("[data-curve]").map(root => {
  const explorer = new Explorer(root, () => []);
  explorer.refresh = () => {
    explorer.look.color = tone("accent");
    explorer.draw();
  };
  explorer.choose(DATA, {name: "every gamma", color: tone("accent")}, "chosen");
  return explorer;
});
