import { Fragment } from 'react'

/** A text whose addresses break behind their signs, and within a word only if they must. */
export function Breakable({ text }: { text: string }) {
  return text.split(/(?<=[^/:]\/|[@?&=_-])(?=\w)|(?<=\.)(?=[a-z])/i).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ))
}
