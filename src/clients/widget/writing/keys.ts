export const isMac = /Mac|iP/.test(navigator.platform)

/** The name of a key with Ctrl, on a Mac with Cmd: as it is shown, and for `aria-keyshortcuts`. */
export const withCtrl = (key: string): { shown: string; keys: string } =>
  isMac ? { shown: ` (⌘${key})`, keys: `Meta+${key}` } : { shown: ` (Ctrl+${key})`, keys: `Control+${key}` }
