import type MarkdownIt from 'markdown-it'

/** Rendering a text would take more work than allowed. */
export class TooMuchWork extends Error {
  override readonly name = 'TooMuchWork'
}

/**
 * The work allowed for any text, in units: enough for the densest Markdown of some 600 characters.
 */
const BASE_WORK = 1000
/** Dense Markdown, such as a list of links or unfenced code, takes about 0.5. */
const WORK_PER_CHARACTER = 0.6

/** Operations that cost more than a step or a token, by measurement: about 0.15 µs each. */
const BLOCK_WORK = 3
const ENTITY_WORK = 6
const LINK_WORK = 8

const AMPERSAND = 0x26

/**
 * Limits the work of each rendering by the length of its text, so that none costs much more than
 * plain text of that length, whatever weaknesses the parser has. Returns a function that spends
 * units of it. Once they are used up, `md.render` throws `TooMuchWork`.
 */
export function boundWork(md: MarkdownIt): (units: number) => void {
  // One counter is enough: rendering is synchronous.
  let left = 0
  const spend = (units: number): void => {
    left -= units
    if (left < 0) throw new TooMuchWork()
  }
  md.core.ruler.before('normalize', 'work', ({ src }) => void (left = BASE_WORK + WORK_PER_CHARACTER * src.length))
  countSteps(md, spend)
  countTokens(md, spend)
  const { validateLink } = md
  md.validateLink = (url) => {
    spend(LINK_WORK)
    return validateLink(url)
  }
  return spend
}

/** Counts the parser's steps: it calls its first rule at every position that it has not cached. */
function countSteps(md: MarkdownIt, spend: (units: number) => void): void {
  md.block.ruler.before('code', 'work', () => {
    spend(BLOCK_WORK)
    return false
  })
  md.inline.ruler.before('text', 'work', ({ src, pos }) => {
    spend(src.charCodeAt(pos) === AMPERSAND ? ENTITY_WORK : 1)
    return false
  })
  const skipToken = md.inline.skipToken.bind(md.inline)
  md.inline.skipToken = (state) => {
    spend(1)
    skipToken(state)
  }
}

function countTokens(md: MarkdownIt, spend: (units: number) => void): void {
  md.block.State = class extends md.block.State {
    override push(...token: Parameters<typeof md.block.State.prototype.push>) {
      spend(1)
      return super.push(...token)
    }
  }
  md.inline.State = class extends md.inline.State {
    override push(...token: Parameters<typeof md.inline.State.prototype.push>) {
      spend(1)
      return super.push(...token)
    }
  }
}
