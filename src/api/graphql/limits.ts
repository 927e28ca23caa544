import { Lexer, Source, TokenKind } from 'graphql'

import { invalid, ServiceError } from '../../core/errors.ts'

/** A document this short can do no harm; most are, and so are not read twice. */
const HARMLESS_LENGTH = 1000
const MAX_TOKENS = 2000
const MAX_DEPTH = 50

const OPENING: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L])
const CLOSING: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R])

/**
 * Refuses a document before it is parsed: a deep one would overflow the parser's stack, and 256 KiB
 * hold thousands of aliases, each a query of its own or, without any credentials, a whole
 * introspection (measured: 36 MB of answer, 2 s of the process). Throws `validation_failed`. What
 * is no document is the parser's to refuse.
 */
export function checkDocument(text: string): void {
  if (text.length <= HARMLESS_LENGTH) return
  const lexer = new Lexer(new Source(text))
  let tokens = 0
  let depth = 0
  for (let kind = advance(lexer); kind !== TokenKind.EOF; kind = advance(lexer)) {
    if (++tokens > MAX_TOKENS) throw invalid('/query', 'too_long', `must have at most ${MAX_TOKENS} tokens`)
    if (CLOSING.has(kind)) depth--
    if (OPENING.has(kind) && ++depth > MAX_DEPTH) {
      throw invalid('/query', 'too_deep', `must be at most ${MAX_DEPTH} levels deep`)
    }
  }
}

/** The kind of the next token; the end where the text is none. */
function advance(lexer: Lexer): TokenKind {
  try {
    return lexer.advance().kind
  } catch {
    return TokenKind.EOF
  }
}

/** The refusal of an `Accept` that no answer fits. */
export const notAcceptable = (): ServiceError =>
  new ServiceError('validation_failed', { detail: 'No answer here is of a type that Accept names.' })
