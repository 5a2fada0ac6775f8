setTheme(ownTheme());
