import { MAX_DEPTH } from '../../core/settings/tenant.ts'
import { SourceError } from '../item.ts'
import { KeyNumbers } from './key-numbers.ts'
import { type Key, keyOf } from '../../domains/imports/keys.ts'
import {
  type ImportedComment,
  type ImportedFormerReader,
  type ImportedReaction,
  type ImportedReport,
  pairKindOf,
} from '../store/imported.ts'
import type { Move } from '../store/thread-places.ts'

/** The fates of items. */
export const FATES = {
  /** Not in the file, as far as it was read. */
  absent: 0,
  /** A reader or a page that the tenant has, or will have. */
  there: 1,
  /** A comment that will be taken. */
  taken: 2,
  /** A comment of a page that will not be taken, or of an erased reader. */
  refused: 3,
  /** A reader who was erased. */
  erased: 4,
} as const

const MOVES: readonly (Move | null)[] = [null, 'absent', 'gone', 'page', 'deep', 'circle']

/** A growing array of whole numbers; 0 where none was set. */
class Column {
  private values = new Int32Array(1024)

  get(number: number): number {
    return this.values[number] ?? 0
  }

  set(number: number, value: number): void {
    if (number >= this.values.length) {
      const next = new Int32Array(Math.max(2 * this.values.length, number + 1))
      next.set(this.values)
      this.values = next
    }
    this.values[number] = value
  }
}

/**
 * What a file names and how its comments are nested, in some 85 bytes an item. The first pass over
 * the file fills it; then `settle` decides each comment's place.
 */
export class Survey {
  private readonly numbers = new KeyNumbers()
  private readonly most: number
  private readonly fates = new Column()
  /**
   * For comments and pages: the number of the page's external id. For readers: of their own. For a
   * former external id: of the one that it leads to.
   */
  private readonly names = new Column()
  /** For a new comment: the number of its page. */
  private readonly pages = new Column()
  /** For a new comment: the number of its parent, plus 1. */
  private readonly parents = new Column()
  /** The depth of a comment, plus 1. */
  private readonly depths = new Column()
  private readonly moves = new Column()
  /** Whether a new comment keeps its id: 1. */
  private readonly kept = new Column()
  /** For a comment: the number of its author or of their external id, plus 1. */
  private readonly authors = new Column()

  /** It throws SourceError once it has more than `most` keys: of items, names and pairs. */
  constructor(most = Infinity) {
    this.most = most
  }

  private add(key: Key): { number: number; isNew: boolean } {
    const added = this.numbers.add(key)
    if (added.number < this.most) return added
    throw new SourceError('it has too many items for an upload: import it at the command line')
  }

  private numberOf(key: Key): number {
    return this.add(key).number
  }

  private nameOf(kind: 'reader' | 'discussion', externalId: string): number {
    return this.numberOf(keyOf('external id', kind, externalId))
  }

  fateOf(key: Key): number {
    const number = this.numbers.find(key)
    return number === undefined ? FATES.absent : this.fates.get(number)
  }

  setFate(key: Key, fate: number): void {
    this.fates.set(this.numberOf(key), fate)
  }

  /** Notes the external id of a reader or page. Returns whether another item of the file has it. */
  addName(key: Key, kind: 'reader' | 'discussion', externalId: string): { isNew: boolean } {
    const name = this.nameOf(kind, externalId)
    this.names.set(this.numberOf(key), name)
    const isNew = this.fates.get(name) === FATES.absent
    this.fates.set(name, FATES.there)
    return { isNew }
  }

  /** Notes that an external id leads to the reader or page that has another one now. */
  addLead(kind: 'reader' | 'discussion', former: string, now: string): void {
    const [from, to] = [this.nameOf(kind, former), this.nameOf(kind, now)]
    // The tenant may give a page its former external id back meanwhile: leads never go in a circle.
    if (this.names.get(from) === 0 && this.leadOf(to) !== from) this.names.set(from, to)
  }

  /** Notes a former reader. Returns false if the file has their id or external id otherwise. */
  addFormer({ key, externalId }: ImportedFormerReader, now: string): boolean {
    const name = this.nameOf('reader', externalId)
    if (this.fateOf(key) !== FATES.absent || this.fates.get(name) !== FATES.absent) return false
    this.setFate(key, FATES.there)
    this.addName(key, 'reader', externalId)
    this.addLead('reader', externalId, now)
    return true
  }

  /** The number of the external id that a reader or page has now; its own number without one. */
  private leadOf(number: number): number {
    let lead = number
    for (let next = this.names.get(lead); next !== 0; next = this.names.get(lead)) lead = next
    return lead
  }

  /** Adds a comment that the tenant has. */
  addStanding(key: Key, { depth, page, author }: { depth: number; page: string; author: string | null }): void {
    const number = this.numberOf(key)
    this.fates.set(number, FATES.there)
    this.depths.set(number, depth + 1)
    this.names.set(number, this.nameOf('discussion', page))
    if (author === null) return
    this.authors.set(number, this.nameOf('reader', author) + 1)
  }

  /** Adds a new comment. Its page may come later. */
  addComment({ key, discussionKey, parentKey, authorKey, keptId }: ImportedComment): void {
    const number = this.numberOf(key)
    this.kept.set(number, Number(keptId !== null))
    this.fates.set(number, FATES.taken)
    this.pages.set(number, this.numberOf(discussionKey))
    this.parents.set(number, parentKey === null ? 0 : this.numberOf(parentKey) + 1)
    this.authors.set(number, authorKey === null ? 0 : this.numberOf(authorKey) + 1)
  }

  /** Whether this key was not asked for before. */
  isFirst(key: Key): boolean {
    return this.add(key).isNew
  }

  /** Whether a report is by the author of the comment, who cannot make one. */
  isByAuthor({ commentKey, readerKey }: ImportedReport): boolean {
    const author = this.authors.get(this.numberOf(commentKey)) - 1
    return author >= 0 && this.leadOf(author) === this.leadOf(this.numberOf(readerKey))
  }

  /** Whether this is the first of its kind by this reader on this comment. */
  addPair(row: ImportedReaction | ImportedReport): boolean {
    const { commentKey, readerKey } = row
    const [comment, reader] = [this.numberOf(commentKey), this.leadOf(this.numberOf(readerKey))]
    return this.add(keyOf('pair', pairKindOf(row), String(comment), String(reader))).isNew
  }

  moveOf(key: Key): Move | null {
    return MOVES[this.moves.get(this.numberOf(key))] ?? null
  }

  /** Decides the fates of comments, after everything in the file was added. */
  settle(maxDepth: number): void {
    const { size } = this.numbers
    this.breakCircles()
    for (let number = 0; number < size; number++) {
      if (this.fates.get(number) !== FATES.taken) continue
      if (this.isOfPage(number)) this.names.set(number, this.leadOf(this.pages.get(number)))
      else this.fates.set(number, FATES.refused)
    }
    for (let number = 0; number < size; number++) {
      if (this.fates.get(number) === FATES.taken) this.place(number, maxDepth)
    }
  }

  private isOfPage(number: number): boolean {
    return this.fates.get(this.pages.get(number)) === FATES.there
  }

  private breakCircles(): void {
    const passed = new Column()
    for (let start = 0; start < this.numbers.size; start++) {
      let next = this.fates.get(start) === FATES.taken ? start : null
      for (; next !== null && passed.get(next) === 0; next = this.newParentOf(next)) passed.set(next, start + 1)
      if (next !== null && passed.get(next) === start + 1) this.breakCircle(next)
    }
  }

  private breakCircle(member: number): void {
    let top = member
    for (let each = this.newParentOf(member); each !== null && each !== member; each = this.newParentOf(each)) {
      if (this.numbers.compare(each, top) < 0) top = each
    }
    // A comment whose page is not taken is refused, which also breaks the circle.
    if (!this.isOfPage(top)) return
    this.parents.set(top, 0)
    this.moves.set(top, MOVES.indexOf('circle'))
  }

  /** Places a comment, after all new ones above it. */
  private place(number: number, maxDepth: number): void {
    const path: number[] = []
    for (let next: number | null = number; next !== null && this.depths.get(next) === 0;) {
      path.push(next)
      next = this.newParentOf(next)
    }
    for (const each of path.toReversed()) this.stand(each, maxDepth)
  }

  private newParentOf(number: number): number | null {
    const parent = this.parents.get(number) - 1
    return parent >= 0 && this.fates.get(parent) === FATES.taken ? parent : null
  }

  /** Sets a comment's depth. Its parent has been placed already. */
  private stand(number: number, ofTenant: number): void {
    const maxDepth = this.kept.get(number) === 1 ? MAX_DEPTH : ofTenant
    const parent = this.parents.get(number) - 1
    const above = parent < 0 ? 0 : this.depths.get(parent)
    const move = parent < 0 ? null : this.moveBelow(number, parent, maxDepth)
    if (move !== null) this.moves.set(number, MOVES.indexOf(move))
    this.depths.set(number, move === null || move === 'deep' ? Math.min(above, maxDepth) + 1 : 1)
  }

  private moveBelow(number: number, parent: number, maxDepth: number): Move | null {
    const fate = this.fates.get(parent)
    if (fate !== FATES.taken && fate !== FATES.there) return 'absent'
    if (this.depths.get(parent) === 0) return 'gone'
    if (this.names.get(parent) !== this.names.get(number)) return 'page'
    return this.depths.get(parent) > maxDepth ? 'deep' : null
  }
}
