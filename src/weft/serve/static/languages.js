// The languages of a model, by name.

const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

function languageName(code) {
  try {
    return names.of(code.replaceAll("_", "-"));
  } catch {
    return code; // not a language code
  }
}

export const directionName = ({ source, target }) => `${languageName(source)} → ${languageName(target)}`;
