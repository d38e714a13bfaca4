// Light, dark, or as the reader's system is set.

const button = document.querySelector("#theme");
const THEMES = ["auto", "light", "dark"];

function apply(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.textContent = `Theme: ${theme}`;
}

export function initTheme() {
  apply(localStorage.getItem("theme") ?? "auto");
  button.addEventListener("click", () => {
    const theme = THEMES[(THEMES.indexOf(localStorage.getItem("theme") ?? "auto") + 1) % THEMES.length];
    localStorage.setItem("theme", theme);
    apply(theme);
  });
}
