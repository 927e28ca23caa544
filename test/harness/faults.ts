/**
 * What the harness has found wrong in passing: parameters that do not fit their statement, answers
 * that the reference does not describe. A test file fails at its end for them.
 */
export const faults: string[] = []
