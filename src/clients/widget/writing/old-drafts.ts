/** The drafts of all readers and pages of a site on this device. */
const MAX_DRAFTS = 100
const MAX_AGE_MS = 30 * 86_400_000

/**
 * Forgets drafts that were not written for long, and the oldest beyond a number. Their names begin
 * with the prefix.
 */
export function forgetOldDrafts(prefix: string): void {
  try {
    const names = Array.from({ length: localStorage.length }, (_, n) => localStorage.key(n) ?? '')
    const drafts = names.filter((name) => name.startsWith(prefix)).map((name) => ({ name, at: writtenAt(name) }))
    drafts.sort((a, b) => b.at - a.at)
    for (const [n, { name, at }] of drafts.entries())
      if (n >= MAX_DRAFTS || at < Date.now() - MAX_AGE_MS) localStorage.removeItem(name)
  } catch {
    // Storage is forbidden.
  }
}

/** 0: nobody can read it. */
function writtenAt(name: string): number {
  try {
    return Number((JSON.parse(localStorage.getItem(name) ?? '') as { at?: number }).at) || 0
  } catch {
    return 0
  }
}
