import sax, { type SAXParser } from 'sax'

import { type OnRead, SourceError, type SourceFile } from '../item.ts'
import { type Damage, readText } from './text.ts'

/** The most text of an element that is kept: more than any comment has. */
const MAX_TEXT = 1024 * 1024

/** Deeper than any comment file is nested. */
const MAX_DEPTH = 50

/** More than the namespaces of any export. The parser would keep any number of them. */
const MAX_ATTRIBUTES = 100

/** An element for one item, such as a comment, with the requested fields. */
export interface XmlRecord {
  name: string
  line: number
  /** By path below the record, such as `author/name`; for an attribute `thread/@dsq:id`. */
  fields: ReadonlyMap<string, string>
  /** The enclosing record, with the fields that came before this one. */
  within: XmlRecord | null
  isTooLong: boolean
}

/** The number of characters in its fields. */
export const lengthOf = ({ fields }: XmlRecord): number =>
  [...fields.values()].reduce((length, text) => length + text.length, 0)

export interface XmlForm {
  /** Whether a file with this root element has this form. */
  isRoot: (name: string, attributes: Readonly<Record<string, string>>) => boolean
  /** The elements that are records, by path from the root, with the paths of their fields. */
  records: Readonly<Record<string, readonly string[]>>
}

interface Open extends XmlRecord {
  fields: Map<string, string>
  within: Open | null
  depth: number
  wanted: readonly string[]
}

/**
 * The records of an XML file, each when it ends. Document types are not supported: the only
 * entities are XML's five, and numbers.
 */
export async function* readXml(
  file: SourceFile,
  form: XmlForm,
  damage: Damage,
  onRead?: OnRead,
): AsyncGenerator<XmlRecord> {
  const reader = new XmlReader(form)
  for await (const text of readText(file, damage, onRead)) yield* reader.write(text)
  reader.end()
}

/** Without HTML's entities, an option that the types lack. */
const OPTIONS = { strictEntities: true, position: true }

const NO_DOCTYPE = 'it has a document type, which no export has'

class XmlReader {
  private readonly parser = sax.parser(true, OPTIONS) as SAXParser & { closedRoot: boolean }
  private readonly names: string[] = []
  private readonly form: XmlForm
  /** How many attributes the present element has. */
  private attributes = 0
  private record: Open | null = null
  /** The field that is being read. */
  private field: string | null = null
  private done: XmlRecord[] = []

  constructor(form: XmlForm) {
    this.form = form
    Object.assign<SAXParser, Partial<SAXParser>>(this.parser, {
      onopentagstart: () => void (this.attributes = 0),
      onattribute: () => {
        if (++this.attributes > MAX_ATTRIBUTES) this.fail('an element has more attributes than in any export')
      },
      onopentag: ({ name, attributes }) => this.open(name, attributes as Record<string, string>),
      onclosetag: () => this.close(),
      ontext: (text) => this.addText(text),
      oncdata: (text) => this.addText(text),
      ondoctype: () => this.fail(NO_DOCTYPE),
      onsgmldeclaration: () => this.fail(NO_DOCTYPE),
      onerror: (error) => this.recover(error),
    })
  }

  /**
   * WordPress writes authors' addresses unescaped, with a bare &. Any other error ends the file.
   */
  private recover(error: Error): void {
    // The library's message quotes the file, which contains people's texts.
    if (!/character (?:in )?entity/.test(error.message)) this.fail('is not XML, or is damaged')
    // The types do not allow null, the parser's initial value.
    Object.assign(this.parser, { error: null })
  }

  *write(text: string): Generator<XmlRecord> {
    this.parser.write(text)
    yield* this.done
    this.done = []
  }

  end(): void {
    if (this.names.length > 0 || !this.parser.closedRoot) this.fail('it ends in the middle: it is damaged or cut off')
  }

  private fail(reason: string): never {
    throw new SourceError(`line ${this.parser.line + 1}: ${reason}`)
  }

  private open(name: string, attributes: Readonly<Record<string, string>>): void {
    const { names, form } = this
    if (names.length === 0 && !form.isRoot(name, attributes)) this.fail('such a file begins with another element')
    if (names.push(name) > MAX_DEPTH) this.fail('elements are nested deeper than in any export')
    const wantedOfNew = form.records[names.join('/')]
    if (wantedOfNew !== undefined) {
      const line = this.parser.line + 1
      const fields = new Map<string, string>()
      const { length: depth } = names
      this.record = { name, line, fields, within: this.record, isTooLong: false, depth, wanted: wantedOfNew }
    }
    const { record } = this
    if (record === null) return
    const { wanted } = record
    const path = names.slice(record.depth).join('/')
    this.field = wanted.includes(path) ? path : null
    for (const [key, value] of Object.entries(attributes)) {
      const attribute = path === '' ? `@${key}` : `${path}/@${key}`
      if (wanted.includes(attribute)) record.fields.set(attribute, value)
    }
  }

  private close(): void {
    this.names.pop()
    this.field = null
    const { record } = this
    if (record === null || this.names.length >= record.depth) return
    this.done.push(record)
    this.record = record.within
  }

  private addText(text: string): void {
    const { record, field } = this
    if (record === null || field === null) return
    const before = record.fields.get(field) ?? ''
    if (before.length + text.length > MAX_TEXT) record.isTooLong = true
    else record.fields.set(field, before + text)
  }
}
