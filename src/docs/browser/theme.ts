// Runs before the page is drawn. The console keeps the reader's choice under this name.
export const KEY = 'mantine-color-scheme-value'

/** Shows the page in the chosen colours; without a choice, in those of the system. */
export function applyTheme(choice: string | null): void {
  if (choice === 'light' || choice === 'dark') document.documentElement.dataset.theme = choice
  else delete document.documentElement.dataset.theme
}

/** The stored choice. A browser may refuse the storage. */
export function storedTheme(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}

applyTheme(storedTheme())
