/**
 * For texts of readers and publishers: kept in their box, and in the direction of their own
 * letters.
 */
export const WRITTEN = { className: 'written', dir: 'auto' } as const
