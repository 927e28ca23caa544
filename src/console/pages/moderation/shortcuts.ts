import { useLocalStorage } from '@mantine/hooks'

export type Shortcuts = readonly (readonly [keys: readonly string[], does: string])[]

/** The meaning of each key of a list, as the help shows it. */
export const SHORTCUTS: Shortcuts = [
  [['j', '↓'], 'Next comment'],
  [['k', '↑'], 'Previous comment'],
  [['a'], 'Approve, or mark an unreviewed one as reviewed, and go on to the next comment'],
  [['r'], 'Reject, and go on to the next comment'],
  [['m'], 'Reject with a reason or a message; also all pending of the reader'],
  [['s'], 'Skip: leave it, and go on to the next comment that waits'],
  [['p'], 'Pin, or unpin; approved comments only'],
  [['b'], 'Ban the reader'],
  [['x'], 'Select, for several at once'],
  [['Shift', 'A'], 'Approve all that are selected, or mark them as reviewed'],
  [['Shift', 'R'], 'Reject all that are selected'],
  [['Escape'], 'Clear the selection'],
  [['u'], 'Undo the last action, then the one before'],
  [['c'], 'Show the context of the comment, or hide it'],
  [['Enter'], 'Go into the context; Escape leads back'],
  [['o'], 'Open the discussion; the browser’s Back leads to the same place'],
  [['/'], 'Search all comments'],
  [['?'], 'Show these keys'],
]

/** The help of a page that has only these of the keys. */
export const onlyKeys = (...names: readonly string[]): Shortcuts =>
  SHORTCUTS.filter(([keys]) => names.includes(keys.join(' ')))

/** Whether judgements are sent at once, as chosen in this browser. */
export const useSendAtOnce = () =>
  useLocalStorage({ key: 'engagement-console-send-at-once', defaultValue: false, getInitialValueInEffect: false })
