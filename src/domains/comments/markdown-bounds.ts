import type MarkdownIt from 'markdown-it'

/** A text takes more work to render than it may. */
export class TooMuchWork extends Error {
  override readonly name = 'TooMuchWork'
}

/**
 * Work that any text may take, in units: enough for the densest Markdown of some 600 characters.
 */
const BASE_WORK = 1000
/** Dense Markdown, a list of links or code outside of a fence, takes about 0.5. */
const WORK_PER_CHARACTER = 0.6

/** What takes longer than a step or a token, by measurement: about 0.15 µs each. */
const BLOCK_WORK = 3
const ENTITY_WORK = 6
const LINK_WORK = 8

const AMPERSAND = 0x26

/**
 * Gives each rendering an amount of work by the length of its text, so that none costs much more
 * than a plain text of that length, whatever weaknesses the parser has. Returns a function that
 * spends some of it. Where it is used up, `md.render` throws `TooMuchWork`.
 */
export function boundWork(md: MarkdownIt): (units: number) => void {
  // Rendering is synchronous: there is never more than one at a time.
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

/**
 * The parser asks its first rule at every place that it looks at, and skips over places that it has
 * seen.
 */
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
