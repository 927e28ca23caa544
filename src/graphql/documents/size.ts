import { Lexer, Source, TokenKind } from 'graphql'

import { invalid, type ServiceError } from '../../core/errors.ts'

/** A document this short is harmless, and is not read twice. Most are. */
const HARMLESS_LENGTH = 1000
/** Documents of tools have some 20 characters a token. */
const MAX_LENGTH = 65_536
/** A line of a comment or of a block string is no token, but costs as much as one (measured). */
const MAX_LINES = 5000
const MAX_TOKENS = 2000
const MAX_DEPTH = 50

const OPENING: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L])
const CLOSING: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R])

/**
 * Refuses a text that is sent as a document by its length and lines, before any of it is lexed.
 * A tenant may have one of more lines, which an earlier release took. Throws `validation_failed`.
 */
export function checkLength(text: string): void {
  if (text.length > MAX_LENGTH) throw tooLong(MAX_LENGTH, 'characters')
  if (text.length > MAX_LINES && hasMoreLines(text, MAX_LINES)) throw tooLong(MAX_LINES, 'lines')
}

/**
 * Refuses a large document by its tokens, before it is parsed. 256 KiB can hold thousands of
 * aliases, each a query or, even without credentials, a whole introspection (measured: 36 MB of
 * answer, 2 s of the process). The parser's own `maxTokens` is not enough: 2 000 tokens `[`
 * overflow its stack. Throws `validation_failed`. Invalid documents are left for the parser to
 * refuse.
 */
export function checkTokens(text: string): void {
  if (text.length <= HARMLESS_LENGTH) return
  const lexer = new Lexer(new Source(text))
  let tokens = 0
  let depth = 0
  for (let kind = advance(lexer); kind !== TokenKind.EOF; kind = advance(lexer)) {
    if (++tokens > MAX_TOKENS) throw tooLong(MAX_TOKENS, 'tokens')
    if (CLOSING.has(kind)) depth--
    if (OPENING.has(kind) && ++depth > MAX_DEPTH) {
      throw invalid('/query', 'too_deep', `must be at most ${MAX_DEPTH} levels deep`)
    }
  }
}

const tooLong = (most: number, what: string): ServiceError =>
  invalid('/query', 'too_long', `must have at most ${most} ${what}`)

/** Whether a text has more lines than `most`. A line ends as in GraphQL: by LF, CR or both. */
function hasMoreLines(text: string, most: number): boolean {
  let lines = 1
  for (const _end of text.matchAll(/\r\n?|\n/g)) if (++lines > most) return true
  return false
}

/** The kind of the next token; the end if the text is invalid. */
function advance(lexer: Lexer): TokenKind {
  try {
    return lexer.advance().kind
  } catch {
    return TokenKind.EOF
  }
}
