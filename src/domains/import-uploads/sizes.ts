/** The most bytes of a file: 1 GB. */
export const MAX_UPLOAD_BYTES = 1_000_000_000

/** The size of each part but the last: small enough for a proxy with its default limits. */
export const PART_BYTES = 1024 * 1024

/** The number of parts of a file. */
export const partsOf = (bytes: number): number => Math.ceil(bytes / PART_BYTES)

/** The size of part `n`, from 0. */
export const bytesOfPart = (bytes: number, n: number): number => Math.min(PART_BYTES, bytes - n * PART_BYTES)
