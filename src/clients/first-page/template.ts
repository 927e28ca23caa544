import { nothing } from 'lit/html.js'

/** HTML that goes into a page as it is. */
export class Markup {
  readonly html: string

  constructor(html: string) {
    this.html = html
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Safe as text and within a quoted attribute. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => ENTITIES[one] ?? '')

/** What `html` of lit gives: the texts around the values of a template. */
interface Template {
  strings: readonly string[]
  values: readonly unknown[]
}

const isTemplate = (value: unknown): value is Template =>
  typeof value === 'object' && value !== null && 'strings' in value && 'values' in value

const isNothing = (value: unknown): boolean => value === nothing || value === null || value === undefined

/** The HTML that lit draws for a value of a template, without its handlers and comments. */
export function htmlOf(value: unknown): string {
  if (isNothing(value)) return ''
  if (value instanceof Markup) return value.html
  if (Array.isArray(value)) return value.map(htmlOf).join('')
  return isTemplate(value) ? templateHtml(value) : escaped(String(value))
}

/** A binding of a whole attribute: ` name=`, `.property=`, `?boolean=`, `@event=`. */
const BINDING = /\s([.?@]?)([\w-]+)=$/

function templateHtml({ strings, values }: Template): string {
  let html = ''
  for (const [n, string] of strings.entries()) {
    html += string
    if (n === values.length) break
    const binding = html.lastIndexOf('<') > html.lastIndexOf('>') ? BINDING.exec(string) : null
    if (binding === null) html += htmlOf(values[n])
    else html = html.slice(0, -binding[0].length) + attributeHtml(binding[1] ?? '', binding[2] ?? '', values[n])
  }
  return html
}

function attributeHtml(kind: string, name: string, value: unknown): string {
  // A property that stands for an attribute without a value; no policy allows `style` in a page.
  if (kind === '?' || (kind === '.' && name === 'selected')) return value === true ? ` ${name}` : ''
  return kind === '' && !isNothing(value) ? ` ${name}="${escaped(String(value))}"` : ''
}
