/**
 * For what readers and publishers have written: kept in its box, and read from the side that its
 * own letters are.
 */
export const WRITTEN = { className: 'written', dir: 'auto' } as const
