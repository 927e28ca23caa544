/** What readers see who ask for the earlier texts of a comment. */
export const strings = {
  versions: 'Versions of this comment',
  currentVersion: 'Current version',
  noVersions: 'No earlier version is shown.',
  moreVersions: 'Earlier versions',
  close: 'Close',
}

export type HistoryStrings = typeof strings
