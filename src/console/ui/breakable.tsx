import { Fragment } from 'react'

/** A text, the addresses in which break behind their signs, and not within a word if they need not. */
export function Breakable({ text }: { text: string }) {
  return text.split(/(?<=[^/:]\/|[@?&=_-])(?=\w)|(?<=\.)(?=[a-z])/i).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ))
}
