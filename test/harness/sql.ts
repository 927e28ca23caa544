import { type Statement, takesLocks } from '../../src/core/database/statements.ts'

/**
 * A statement of a test. It has no name, and is not prepared: test files share a process, in which
 * a name stands for one text.
 */
export const unnamed = (text: string): Statement<never> => ({ name: '', text, locks: takesLocks(text) })
