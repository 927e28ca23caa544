import { Lexer, Source, TokenKind } from 'graphql'

import { invalid } from '../../core/errors.ts'

/** A document this short is harmless, and is not read twice. Most are. */
const HARMLESS_LENGTH = 1000
const MAX_TOKENS = 2000
const MAX_DEPTH = 50

const OPENING: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L])
const CLOSING: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R])

/**
 * Refuses a large document before it is parsed. 256 KiB can hold thousands of aliases, each a query
 * or, even without credentials, a whole introspection (measured: 36 MB of answer, 2 s of the
 * process). The parser's own `maxTokens` is not enough: 2 000 tokens `[` overflow its stack. Throws
 * `validation_failed`. Invalid documents are left for the parser to refuse.
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

/** The kind of the next token; the end if the text is invalid. */
function advance(lexer: Lexer): TokenKind {
  try {
    return lexer.advance().kind
  } catch {
    return TokenKind.EOF
  }
}
