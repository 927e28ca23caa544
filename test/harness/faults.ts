/**
 * Faults that the harness has noticed in passing: parameters that do not fit their statement,
 * answers that the reference does not describe. A test file with any fails at its end.
 */
export const faults: string[] = []
