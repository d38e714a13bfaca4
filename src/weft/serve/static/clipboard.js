// Copying text, also on pages that are not served over https, where the clipboard API does not exist.

const SHOWN = 1500; // milliseconds

// Copies the text, and shows the result on the button for a moment.
export async function copyText(text, button) {
  const isCopied = await writeClipboard(text, button);
  button.dataset.label ??= button.textContent;
  button.textContent = isCopied ? "Copied" : "Not allowed here";
  setTimeout(() => (button.textContent = button.dataset.label), SHOWN);
}

async function writeClipboard(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text, button);
  }
}

function copySelection(text, button) {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  button.focus();
  return isCopied;
}
