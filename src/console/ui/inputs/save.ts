/** Offers a file to the person as a download. */
export function saveFile(name: string, content: Blob): void {
  const href = URL.createObjectURL(content)
  const link = Object.assign(document.createElement('a'), { href, download: name })
  link.click()
  // The browser has not begun to read it when the click returns.
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}
